// SPDX-License-Identifier: GPL-2.0-only
/* Reading recordings, strictly: a file that is damaged anywhere is refused. See recording.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"
#include "recording.h"

#define FIRST_KEY  "# ksmtrace recording: "
#define STAT_KEY   "stat."
#define BATCH_KEY  "batches."
#define NUMBER_MAX 64 /* bytes: the longest number of a head line, with its end */

/* Means and variances of durations of 64 bits: nothing larger can be true. */
#define MEAN_MAX     1.9e19
#define VARIANCE_MAX 3.5e38

struct reader {
	struct recording *recording;
	FILE *stream;
	const char *name;
	unsigned long line; /* number of the line in text */
	char text[RECORDING_LINE_MAX + 2];
	size_t functions_with_rows; /* they come first, in the order of their rows */
	unsigned int next_bucket;   /* the lowest that the next row of the last of them may have */
	uint64_t rows_sum;	    /* what its rows add up to so far */
	char *why;
	size_t size;
};

static int refuse(struct reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Always -EINVAL, with the line that is being read. */
static int refuse(struct reader *r, const char *format, ...)
{
	int used = snprintf(r->why, r->size, "%s:%lu: ", r->name, r->line);
	va_list args;

	va_start(args, format);
	if (used >= 0 && (size_t)used < r->size)
		vsnprintf(r->why + used, r->size - (size_t)used, format, args);
	va_end(args);
	return -EINVAL;
}

static int refuse_errno(struct reader *r, int err)
{
	snprintf(r->why, r->size, "%s: %s", r->name, strerror(-err));
	return err;
}

/* --- lines ---------------------------------------------------------------------------------- */

/* The next line without its newline. Returns 1; 0 at the end of the file; a negative errno. */
static int next_line(struct reader *r)
{
	size_t length = 0;
	int c;

	r->line++;
	while ((c = getc(r->stream)) != EOF && c != '\n') {
		if (c == '\r')
			return refuse(r, "a carriage return: the file was converted on its way");
		if ((c < ' ' && c != '\t') || c == 0x7f)
			return refuse(r, "a control character (0x%02x): this is no text file", c);
		if (length == RECORDING_LINE_MAX)
			return refuse(r, "longer than %d bytes: no line of a recording is",
				      RECORDING_LINE_MAX);
		r->text[length++] = (char)c;
	}
	r->text[length] = '\0';
	if (ferror(r->stream))
		return refuse_errno(r, errno ? -errno : -EIO);
	if (c == '\n')
		return 1;
	return length ? refuse(r, "the file is cut short: this line has no end") : 0;
}

/* --- the head ------------------------------------------------------------------------------- */

static int read_first(struct reader *r)
{
	uint64_t version;
	int got = next_line(r);

	if (got < 0)
		return got;
	if (!got)
		return refuse(r, "the file is empty");
	if (strncmp(r->text, FIRST_KEY, strlen(FIRST_KEY)))
		return refuse(r, "no recording of ksmtrace: it does not begin with '%s%d'",
			      FIRST_KEY, RECORDING_VERSION);
	if (parse_u64(r->text + strlen(FIRST_KEY), 0, UINT64_MAX, &version))
		return refuse(r, "'%.40s' is no version number", r->text + strlen(FIRST_KEY));
	if (version != RECORDING_VERSION)
		return refuse(r,
			      "a recording of version %" PRIu64 "; this program reads version %d",
			      version, RECORDING_VERSION);
	return 0;
}

/* Copies the value of NAME=VALUE among the words of text. False when it is not there exactly
 * once, or too long. */
static bool find_word(const char *text, const char *name, char value[NUMBER_MAX])
{
	size_t length = strlen(name), n;
	bool found = false;

	while (*text) {
		n = strcspn(text, " ");
		if (n > length && !strncmp(text, name, length) && text[length] == '=') {
			if (found || n - length - 1 >= NUMBER_MAX)
				return false;
			memcpy(value, text + length + 1, n - length - 1);
			value[n - length - 1] = '\0';
			found = true;
		}
		text += n;
		text += strspn(text, " ");
	}
	return found;
}

static bool word_u64(const char *text, const char *name, uint64_t *value)
{
	char number[NUMBER_MAX];

	return find_word(text, name, number) && !parse_u64(number, 0, UINT64_MAX, value);
}

static bool word_double(const char *text, const char *name, double max, double *value)
{
	char number[NUMBER_MAX];
	double v;

	return find_word(text, name, number) && !parse_double(number, &v) && v <= max &&
	       v >= -max && (*value = v, true);
}

static struct recording_function *find_function(const struct recording *recording, const char *name,
						size_t length)
{
	size_t i;

	for (i = 0; i < recording->functions; i++)
		if (!strncmp(recording->function[i].name, name, length) &&
		    !recording->function[i].name[length])
			return &recording->function[i];
	return NULL;
}

static int check_name(struct reader *r, const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_.$";

	if (!*name || strlen(name) >= sizeof(((struct recording_function *)0)->name) ||
	    strspn(name, allowed) != strlen(name))
		return refuse(r, "'%.64s' is no name of a function", name);
	return 0;
}

static int read_stat(struct reader *r, const char *name, const char *value)
{
	struct recording *recording = r->recording;
	struct recording_function *f, *p;
	struct fn_stat *stat;
	uint64_t count, sum, min, max;
	int err = check_name(r, name);

	if (err)
		return err;
	if (find_function(recording, name, strlen(name)))
		return refuse(r, "a second stat line of %s", name);
	if (recording->functions == RECORDING_FUNCTIONS_MAX)
		return refuse(r, "more than %d functions", RECORDING_FUNCTIONS_MAX);
	p = realloc(recording->function, (recording->functions + 1) * sizeof(*p));
	if (!p)
		return refuse_errno(r, -ENOMEM);
	recording->function = p;
	f = &p[recording->functions];
	memset(f, 0, sizeof(*f));
	strcpy(f->name, name);
	if (!word_u64(value, "count", &count) || !word_u64(value, "sum_ns", &sum) ||
	    !word_u64(value, "min_ns", &min) || !word_u64(value, "max_ns", &max) ||
	    !word_u64(value, "scans", &f->scans) ||
	    !word_double(value, "scan_mean_ns", MEAN_MAX, &f->scan_mean_ns) ||
	    !word_double(value, "scan_var_ns2", VARIANCE_MAX, &f->scan_var_ns2))
		return refuse(r,
			      "stat.%s must have count, sum_ns, min_ns, max_ns, scans, "
			      "scan_mean_ns and scan_var_ns2, each once and a number",
			      name);
	stat = &f->histogram.stat;
	stat->count = count;
	stat->sum_ns = sum;
	stat->min_ns = min;
	stat->max_ns = max;
	if (f->scan_mean_ns < 0 || f->scan_var_ns2 < 0)
		return refuse(r, "stat.%s: a mean or a variance below zero", name);
	if (count && (min > max || sum / count < min || sum / count > max))
		return refuse(r, "stat.%s: the mean is not between min_ns and max_ns", name);
	if (f->scans > count)
		return refuse(r, "stat.%s: more scans than calls", name);
	recording->functions++;
	return 0;
}

/* Its stat line comes before it. */
static int read_batches(struct reader *r, const char *name, const char *value)
{
	struct recording_function *f = find_function(r->recording, name, strlen(name));
	struct stats_batch_summary b;

	if (!f)
		return refuse(r, "batches.%.64s without a stat line before it", name);
	if (f->batches.batches)
		return refuse(r, "a second batches line of %s", name);
	if (!word_u64(value, "count", &b.batches) || !word_u64(value, "scans", &b.length) ||
	    !word_double(value, "var_ns2", VARIANCE_MAX, &b.variance) ||
	    !word_double(value, "lag1", 1, &b.lag1))
		return refuse(r,
			      "batches.%s must have count, scans, var_ns2 and lag1, each once "
			      "and a number",
			      name);
	if (!b.batches || !b.length || b.batches > f->scans / b.length || b.variance < 0)
		return refuse(r, "batches.%s: more batches than the scans of stat.%s make, or none",
			      name, name);
	f->batches = b;
	return 0;
}

/* What compare calculates with is a number, or not known. */
static int check_value(struct reader *r, const char *key, const char *value)
{
	static const char *const whole[] = {"scans",	    "passes",	  "pages",
					    "ksmd_cpu_ns",  "lost_scans", "missed_probes",
					    "pages_sharing"};
	uint64_t number;
	double real;
	size_t i;

	if (!strcmp(value, "unknown"))
		return 0;
	for (i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
		if (!strcmp(key, whole[i]) && parse_u64(value, 0, UINT64_MAX, &number))
			return refuse(r, "%s: '%.40s' is neither a whole number nor unknown", key,
				      value);
	if (!strcmp(key, "elapsed_s") && (parse_double(value, &real) || real < 0))
		return refuse(r, "elapsed_s: '%.40s' is no number of seconds", value);
	return 0;
}

static int read_key(struct reader *r)
{
	char *key = r->text + 2, *value = strstr(key, ": ");
	int err;

	if (r->text[1] != ' ' || !value || value == key)
		return refuse(r, "not '# key: value'");
	if (r->recording->lines == RECORDING_HEAD_MAX)
		return refuse(r, "more than %d lines of head", RECORDING_HEAD_MAX);
	*value = '\0';
	value += 2;
	if (!strncmp(key, STAT_KEY, strlen(STAT_KEY)))
		err = read_stat(r, key + strlen(STAT_KEY), value);
	else if (!strncmp(key, BATCH_KEY, strlen(BATCH_KEY)))
		err = read_batches(r, key + strlen(BATCH_KEY), value);
	else
		err = check_value(r, key, value);
	if (err)
		return err;
	err = recording_add(r->recording, key, "%s", value);
	return err ? refuse_errno(r, err) : 0;
}

/* Up to and with the line that names the columns. */
static int read_head(struct reader *r)
{
	int got, err = read_first(r);

	while (!err) {
		got = next_line(r);
		if (got < 0)
			return got;
		if (!got)
			return refuse(r, "the file is cut short: no line '%s'", RECORDING_COLUMNS);
		if (!strcmp(r->text, RECORDING_COLUMNS))
			return r->recording->functions ? 0
						       : refuse(r, "no stat line of any function");
		if (r->text[0] != '#')
			return refuse(r, "neither '# key: value' nor '%s'", RECORDING_COLUMNS);
		err = read_key(r);
	}
	return err;
}

/* --- the rows ------------------------------------------------------------------------------- */

/* The rows of the function that had the last one are all there? */
static int check_sum(struct reader *r, const struct recording_function *f)
{
	if (r->rows_sum == f->histogram.stat.count)
		return 0;
	return refuse(r,
		      "the rows of %s add up to %" PRIu64 " calls, its stat line says %" PRIu64
		      ": rows are missing or damaged",
		      f->name, r->rows_sum, (uint64_t)f->histogram.stat.count);
}

/* The function of a row, which becomes the last of those with rows; NULL with why. */
static struct recording_function *row_function(struct reader *r, const char *name, size_t length)
{
	struct recording_function *f = find_function(r->recording, name, length), *first, saved;
	struct recording_function *last = NULL;

	if (!f) {
		refuse(r, "'%.*s' has no stat line in the head", (int)(length < 64 ? length : 64),
		       name);
		return NULL;
	}
	if (r->functions_with_rows)
		last = &r->recording->function[r->functions_with_rows - 1];
	if (f == last)
		return f;
	if (f < last) {
		refuse(r, "the rows of %s are not all together", f->name);
		return NULL;
	}
	if (last && check_sum(r, last))
		return NULL;
	first = &r->recording->function[r->functions_with_rows++];
	if (f != first) {
		saved = *f;
		memmove(first + 1, first, (size_t)(f - first) * sizeof(*f));
		*first = saved;
	}
	r->next_bucket = 0;
	r->rows_sum = 0;
	return first;
}

/* Cuts the text at its next comma: returns what is behind it, or NULL. */
static char *cut(char *text)
{
	char *comma = strchr(text, ',');

	if (!comma)
		return NULL;
	*comma = '\0';
	return comma + 1;
}

/* The bucket that a row's bounds are those of, or -EINVAL. */
static int read_bucket(struct reader *r, const char *low_text, const char *high_text)
{
	uint64_t low = 0, high = 0;
	unsigned int bucket;

	if (parse_u64(low_text, 0, UINT64_MAX, &low))
		return refuse(r, "low_ns '%.40s' is no whole number", low_text);
	if (*high_text && parse_u64(high_text, 0, UINT64_MAX, &high))
		return refuse(r, "high_ns '%.40s' is no whole number", high_text);
	bucket = bucket_index(low);
	if (bucket_low(bucket) != low ||
	    (bucket == BUCKET_OVERFLOW ? *high_text != '\0'
				       : !*high_text || bucket_high(bucket) != high))
		return refuse(r, "%s to %s is no bucket of this format", low_text,
			      *high_text ? high_text : "(no end)");
	return (int)bucket;
}

static int read_row(struct reader *r)
{
	char *low = cut(r->text), *high = low ? cut(low) : NULL,
	     *count_text = high ? cut(high) : NULL;
	struct recording_function *f;
	uint64_t count = 0;
	int bucket;

	if (!count_text || strchr(count_text, ','))
		return refuse(r, "not four columns (%s)", RECORDING_COLUMNS);
	f = row_function(r, r->text, strlen(r->text));
	if (!f)
		return -EINVAL;
	bucket = read_bucket(r, low, high);
	if (bucket < 0)
		return bucket;
	if ((unsigned int)bucket < r->next_bucket)
		return refuse(r,
			      "the rows of %s do not ascend: this one begins at or below the "
			      "one before",
			      f->name);
	if (parse_u64(count_text, 1, UINT64_MAX, &count))
		return refuse(r, "count '%.40s' is no whole number of 1 or more", count_text);
	if (count > UINT64_MAX - r->rows_sum)
		return refuse(r, "the counts of %s add up to more than 64 bits hold", f->name);
	f->histogram.bucket[bucket] = count;
	r->next_bucket = (unsigned int)bucket + 1;
	r->rows_sum += count;
	return 0;
}

static int read_rows(struct reader *r)
{
	size_t i;
	int got, err;

	while ((got = next_line(r)) > 0) {
		err = read_row(r);
		if (err)
			return err;
	}
	if (got < 0)
		return got;
	/* What is wrong with the end is told of the last line, not of the one that is not there. */
	r->line--;
	if (r->functions_with_rows &&
	    check_sum(r, &r->recording->function[r->functions_with_rows - 1]))
		return -EINVAL;
	for (i = r->functions_with_rows; i < r->recording->functions; i++)
		if (r->recording->function[i].histogram.stat.count)
			return refuse(r, "the file is cut short: %s has no rows",
				      r->recording->function[i].name);
	return 0;
}

/* --- all of it ------------------------------------------------------------------------------ */

int recording_read(struct recording *recording, FILE *stream, const char *name, char *why,
		   size_t size)
{
	struct reader r = {
		.recording = recording,
		.stream = stream,
		.name = name,
		.why = why,
		.size = size,
	};
	int err;

	errno = 0;
	err = read_head(&r);
	if (!err)
		err = read_rows(&r);
	if (err)
		recording_release(recording);
	return err;
}

int recording_load(struct recording *recording, const char *path, char *why, size_t size)
{
	FILE *stream = fopen(path, "re");
	int err;

	if (!stream) {
		err = -errno;
		snprintf(why, size, "%s: %s", path, strerror(-err));
		return err;
	}
	err = recording_read(recording, stream, path, why, size);
	fclose(stream);
	return err;
}
