/*
 * Puts the wall clock of a program ahead by WALL_CLOCK_OFFSET_US microseconds (less than nothing: behind), for LD_PRELOAD.
 * Every other clock stays as it is, and the wall clock goes at its own rate. It names no C library, so that it works with
 * whichever the program brings; the calls go to the kernel, since the library's own are what it stands in for.
 */
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

extern long syscall(long number, ...);
extern char *getenv(const char *name);

static long long offset_us;

__attribute__((constructor)) static void read_offset(void)
{
	const char *text = getenv("WALL_CLOCK_OFFSET_US");
	long long sign = 1;

	if (!text)
		return;
	if (*text == '-') {
		sign = -1;
		text++;
	}
	for (; *text >= '0' && *text <= '9'; text++)
		offset_us = offset_us * 10 + (*text - '0');
	offset_us *= sign;
}

static void shift(struct timespec *ts)
{
	long long us = (long long)ts->tv_sec * 1000000 + ts->tv_nsec / 1000 + offset_us;

	ts->tv_sec = us / 1000000;
	ts->tv_nsec = us % 1000000 * 1000 + ts->tv_nsec % 1000;
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	int failed = (int)syscall(SYS_clock_gettime, id, ts);

	if (!failed && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		shift(ts);
	return failed;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec ts;

	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &ts))
		return -1;
	tv->tv_sec = ts.tv_sec;
	tv->tv_usec = ts.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *to)
{
	struct timespec ts;

	if (clock_gettime(CLOCK_REALTIME, &ts))
		return -1;
	if (to)
		*to = ts.tv_sec;
	return ts.tv_sec;
}
