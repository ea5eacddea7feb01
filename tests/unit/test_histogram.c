// SPDX-License-Identifier: GPL-2.0-only
/* The bucket arithmetic and what is computed from buckets. */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>

#include "histogram.h"

/* Every bound, and the values on both sides of it. */
static void every_value_lies_in_its_bucket(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < BUCKET_OVERFLOW; i++) {
		unsigned long long low = bucket_low(i), high = bucket_high(i);

		assert_true(low < high);
		assert_int_equal(bucket_index(low), i);
		assert_int_equal(bucket_index(low + (high - low) / 2), i);
		assert_int_equal(bucket_index(high - 1), i);
		assert_int_equal(bucket_index(high), i + 1);
	}
}

static void buckets_cover_everything_from_zero_to_two_to_the_36(void **state)
{
	unsigned int i;

	(void)state;
	assert_int_equal(bucket_low(0), 0);
	for (i = 0; i + 1 < BUCKET_OVERFLOW; i++)
		assert_int_equal(bucket_high(i), bucket_low(i + 1));
	assert_int_equal(bucket_high(BUCKET_OVERFLOW - 1), 1ULL << 36);
	assert_int_equal(bucket_index(1ULL << 36), BUCKET_OVERFLOW);
	assert_int_equal(bucket_index(~0ULL), BUCKET_OVERFLOW);
}

static void buckets_are_at_most_a_32nd_wide(void **state)
{
	unsigned int i;

	(void)state;
	for (i = BUCKET_SUB; i < BUCKET_OVERFLOW; i++) {
		unsigned long long low = bucket_low(i);

		assert_true((bucket_high(i) - low) * 32 <= low);
	}
	for (i = 0; i < BUCKET_SUB; i++)
		assert_int_equal(bucket_high(i) - bucket_low(i), 1);
}

static uint64_t random_ns(void)
{
	/* All magnitudes up to 2^36. */
	return (((uint64_t)rand() << 31) ^ (uint64_t)rand()) >> (26 + rand() % 30);
}

static void adding_keeps_exact_count_sum_and_extremes(void **state)
{
	struct histogram h = { 0 };
	uint64_t sum = 0, min = ~0ULL, max = 0;
	int i;

	(void)state;
	srand(1);
	for (i = 0; i < 10000; i++) {
		uint64_t v = random_ns();

		histogram_add(&h, v);
		sum += v;
		min = v < min ? v : min;
		max = v > max ? v : max;
	}
	assert_int_equal(h.stat.count, 10000);
	assert_int_equal(h.stat.sum_ns, sum);
	assert_int_equal(h.stat.min_ns, min);
	assert_int_equal(h.stat.max_ns, max);
	assert_int_equal(histogram_bucket_sum(&h), 10000);
}

static void merging_is_as_if_all_had_been_added_to_one(void **state)
{
	struct histogram a = { 0 }, b = { 0 }, all = { 0 };
	int i;

	(void)state;
	srand(2);
	for (i = 0; i < 5000; i++) {
		uint64_t v = random_ns();

		histogram_add(i % 3 ? &a : &b, v);
		histogram_add(&all, v);
	}
	histogram_merge(&a, &b);
	assert_memory_equal(&a, &all, sizeof(a));
}

static void merging_with_an_empty_one_changes_nothing(void **state)
{
	struct histogram a = { 0 }, empty = { 0 }, before;

	(void)state;
	histogram_add(&a, 700);
	before = a;
	histogram_merge(&a, &empty);
	assert_memory_equal(&a, &before, sizeof(a));
	histogram_merge(&empty, &a);
	assert_memory_equal(&empty, &a, sizeof(a));
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void quantiles_are_those_of_the_sorted_samples_within_half_a_bucket(void **state)
{
	static const double qs[] = { 0, 0.001, 0.1, 0.25, 0.5, 0.9, 0.99, 0.999, 1 };
	enum { N = 20000 };
	uint64_t *sample = malloc(N * sizeof(*sample));
	struct histogram h = { 0 };
	size_t i;

	(void)state;
	srand(3);
	for (i = 0; i < N; i++) {
		sample[i] = random_ns() & ((1ULL << 36) - 1);
		histogram_add(&h, sample[i]);
	}
	qsort(sample, N, sizeof(*sample), ascending);
	for (i = 0; i < sizeof(qs) / sizeof(qs[0]); i++) {
		size_t rank = (size_t)ceil(qs[i] * N);
		uint64_t truth = sample[rank ? rank - 1 : 0];
		unsigned int bucket = bucket_index(truth);
		double half = (double)(bucket_high(bucket) - bucket_low(bucket)) / 2;

		assert_true(fabs(histogram_quantile(&h, qs[i]) - (double)truth) <= half);
	}
	free(sample);
}

static void quantiles_stay_between_the_exact_extremes(void **state)
{
	struct histogram h = { 0 };

	(void)state;
	histogram_add(&h, 1039);
	assert_true(histogram_quantile(&h, 0.5) == 1039.0);
	histogram_add(&h, 1024);
	histogram_add(&h, 1025);
	assert_true(histogram_quantile(&h, 0) == 1024.0);
	assert_true(histogram_quantile(&h, 1) == 1039.0);
}

static void the_overflow_bucket_is_given_as_the_maximum(void **state)
{
	struct histogram h = { 0 };

	(void)state;
	histogram_add(&h, 5);
	histogram_add(&h, 1ULL << 40);
	histogram_add(&h, 1ULL << 41);
	assert_true(histogram_quantile(&h, 0.5) == (double)(1ULL << 41));
}

static void an_empty_histogram_has_no_quantiles_and_no_mean(void **state)
{
	struct histogram h = { 0 };

	(void)state;
	assert_true(histogram_quantile(&h, 0.5) == 0.0);
	assert_true(fn_stat_mean(&h.stat) == 0.0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_value_lies_in_its_bucket),
		cmocka_unit_test(buckets_cover_everything_from_zero_to_two_to_the_36),
		cmocka_unit_test(buckets_are_at_most_a_32nd_wide),
		cmocka_unit_test(adding_keeps_exact_count_sum_and_extremes),
		cmocka_unit_test(merging_is_as_if_all_had_been_added_to_one),
		cmocka_unit_test(merging_with_an_empty_one_changes_nothing),
		cmocka_unit_test(quantiles_are_those_of_the_sorted_samples_within_half_a_bucket),
		cmocka_unit_test(quantiles_stay_between_the_exact_extremes),
		cmocka_unit_test(the_overflow_bucket_is_given_as_the_maximum),
		cmocka_unit_test(an_empty_histogram_has_no_quantiles_and_no_mean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
