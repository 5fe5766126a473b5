/*
 * Moves the wall clock of a program, for LD_PRELOAD. It is WALL_CLOCK_OFFSET_US microseconds ahead (less than nothing: behind), and
 * beside that it stands and goes as the file WALL_CLOCK_FILE says, which may be changed at any time. Where neither is given it is as
 * it is. Every other clock is left alone. It names no C library, so that it works with whichever the program brings; the calls go to
 * the kernel, since the library's own are what it stands in for.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

extern long syscall(long number, ...);
extern char *getenv(const char *name);

/*
 * The file begins with one byte that counts its changes. After an even number of them the first of two settings is in force, after an
 * odd number the second: who changes it fills the one that is not, and counts then. So what is read is a setting as it was written,
 * as long as the count is the same before and after; that it is the same by going round takes 256 changes during one reading.
 */
enum { SETTING_SIZE = 64, FILE_SIZE = 3 * SETTING_SIZE };

struct setting {
	long long shown_us; /* what the clock shows */
	long long at_us;    /* when the true one shows this */
	long long ppm;      /* millionths of the true rate, at which it goes from there */
};

static const unsigned char *face; /* null: there is no file */
static long long offset_us;

static void read_offset(const char *text)
{
	long long sign = 1;

	if (*text == '-') {
		sign = -1;
		text++;
	}
	for (; *text >= '0' && *text <= '9'; text++)
		offset_us = offset_us * 10 + (*text - '0');
	offset_us *= sign;
}

static void open_face(const char *name)
{
	static const char why[] = "wall-clock: WALL_CLOCK_FILE cannot be read\n";
	long fd = syscall(SYS_openat, (long)AT_FDCWD, name, (long)(O_RDONLY | O_CLOEXEC));
	long at = fd < 0 ? -1 : syscall(SYS_mmap, 0L, (long)FILE_SIZE, (long)PROT_READ, (long)MAP_SHARED, fd, 0L);

	if (at == -1) { /* a clock that is right by mistake would be believed to be wrong */
		syscall(SYS_write, 2L, why, (long)sizeof why - 1);
		syscall(SYS_exit_group, 1L);
	}
	syscall(SYS_close, fd);
	face = (const unsigned char *)at;
}

__attribute__((constructor)) static void begin(void)
{
	const char *text = getenv("WALL_CLOCK_OFFSET_US"), *name = getenv("WALL_CLOCK_FILE");

	if (text)
		read_offset(text);
	if (name)
		open_face(name);
}

/* shown is what the clock shows at a time. Whole seconds are taken apart, or the product would be too large after some hours. */
static long long shown(long long us)
{
	const struct setting *s;
	long long since, faster, from;
	unsigned char count;

	if (!face)
		return us + offset_us;
	do {
		count = __atomic_load_n(face, __ATOMIC_ACQUIRE);
		s = (const struct setting *)(face + SETTING_SIZE * (1 + count % 2));
		from = __atomic_load_n(&s->shown_us, __ATOMIC_RELAXED);
		since = us - __atomic_load_n(&s->at_us, __ATOMIC_RELAXED);
		faster = __atomic_load_n(&s->ppm, __ATOMIC_RELAXED) - 1000000;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (__atomic_load_n(face, __ATOMIC_RELAXED) != count);
	return from + since + since / 1000000 * faster + since % 1000000 * faster / 1000000 + offset_us;
}

static void shift(struct timespec *ts)
{
	long long us = shown((long long)ts->tv_sec * 1000000 + ts->tv_nsec / 1000);

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
