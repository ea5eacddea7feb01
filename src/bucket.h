/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The bucket arithmetic of the log-linear histograms, for both sides: the kernel side counts
 * with it, the user side names the bounds with it.
 *
 * Values below 2^BUCKET_SUB_BITS have a bucket each; every octave above is cut into
 * 2^BUCKET_SUB_BITS buckets of the same width, so that a bucket is never wider than 1/32 of
 * its lower bound. 2^BUCKET_MAX_BITS ns (68.7 s) and more fall into one overflow bucket.
 */
#ifndef KSMTRACE_BUCKET_H
#define KSMTRACE_BUCKET_H

#define BUCKET_SUB_BITS 5
#define BUCKET_SUB	(1U << BUCKET_SUB_BITS)
#define BUCKET_MAX_BITS 36
#define BUCKET_OVERFLOW ((BUCKET_MAX_BITS - BUCKET_SUB_BITS + 1) * BUCKET_SUB)
#define BUCKET_COUNT	(BUCKET_OVERFLOW + 1)

/* The bucket that value belongs to: 0 .. BUCKET_OVERFLOW. */
static inline __attribute__((always_inline)) unsigned int bucket_index(unsigned long long value)
{
	unsigned int shift = 0;
	unsigned long long top = value >> BUCKET_SUB_BITS;

	if (value >> BUCKET_MAX_BITS)
		return BUCKET_OVERFLOW;
	/* A binary search for the position of the highest bit: BPF has no instruction for it. */
	if (top >> 16) {
		shift += 16;
		top >>= 16;
	}
	if (top >> 8) {
		shift += 8;
		top >>= 8;
	}
	if (top >> 4) {
		shift += 4;
		top >>= 4;
	}
	if (top >> 2) {
		shift += 2;
		top >>= 2;
	}
	if (top >> 1) {
		shift += 1;
		top >>= 1;
	}
	/* top is 1 from 2^BUCKET_SUB_BITS on, and 0 in the linear part. */
	return (shift << BUCKET_SUB_BITS) + (unsigned int)(value >> shift);
}

/* The lowest value of bucket index, which must be <= BUCKET_OVERFLOW. */
static inline unsigned long long bucket_low(unsigned int index)
{
	unsigned int octave = index >> BUCKET_SUB_BITS;

	if (octave <= 1)
		return index;
	return (unsigned long long)(BUCKET_SUB + (index & (BUCKET_SUB - 1))) << (octave - 1);
}

/* One more than the highest value of bucket index, which must be < BUCKET_OVERFLOW: the
 * overflow bucket has no upper bound. */
static inline unsigned long long bucket_high(unsigned int index)
{
	return bucket_low(index + 1);
}

#endif
