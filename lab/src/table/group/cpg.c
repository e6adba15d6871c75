/* A member of a group of corosync's CPG, for the table `group`: casts, and counts what comes.
 *
 *   cpg MEMBERS SENDERS LENGTH WARM SECONDS bulk|one|gone
 *
 * Once it is in a group of MEMBERS, it says `{}`, and the first SENDERS of them cast messages of
 * LENGTH octets; after WARM seconds it counts for SECONDS what is delivered to it. `one` is one in
 * flight, timed from the cast to its own copy; `gone`: 500 casts a second, until a member is gone,
 * which it says at once, and much came after. The last line is JSON. DAEMON is the process number
 * of its corosync, whose time counts, too.
 */
#include <corosync/cpg.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { SAMPLES = 1 << 20 };
static uint64_t delivered, octets, own, first_after;
static size_t members;
static unsigned rank, left;
static uint32_t self;
static double last, longest, times[SAMPLES];

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Of this process and of its daemon, in seconds. */
static double processor(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double sum = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    char name[64], text[1024] = "";
    snprintf(name, sizeof name, "/proc/%s/stat", getenv("DAEMON") ? getenv("DAEMON") : "0");
    FILE *file = fopen(name, "r");
    if (!file) return sum;
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = 0;
    unsigned long user = 0, system = 0;
    const char *rest = strrchr(text, ')');
    const char *form = "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu";
    if (rest) sscanf(rest + 2, form, &user, &system);
    return sum + (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static void deliver(cpg_handle_t handle, const struct cpg_name *group, uint32_t node,
                    uint32_t process, void *message, size_t length) {
    (void)handle, (void)group, (void)process, (void)message;
    double time = now();
    delivered++, octets += length;
    if (node == self) own++;
    if (last > 0 && time - last > longest) longest = time - last;
    last = time;
    if (left) first_after++;
}

static void change(cpg_handle_t handle, const struct cpg_name *group,
                   const struct cpg_address *all, size_t count, const struct cpg_address *gone,
                   size_t went, const struct cpg_address *came, size_t joined) {
    (void)handle, (void)group, (void)gone, (void)came, (void)joined;
    members = count, rank = 0;
    if (went && !left) printf("{\"gone\":true}\n"), fflush(stdout);
    left += (unsigned)went;
    for (size_t at = 0; at < count; at++)
        if (all[at].nodeid < self) rank++;
}

static int compare(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static int fails(const char *why) {
    fprintf(stderr, "cpg: %s\n", why);
    return 1;
}

int main(int count, char **words) {
    if (count < 7) return 2;
    size_t most = strtoul(words[1], 0, 10), length = strtoul(words[3], 0, 10);
    unsigned senders = (unsigned)strtoul(words[2], 0, 10);
    double warm = strtod(words[4], 0), seconds = strtod(words[5], 0);
    int one = !strcmp(words[6], "one"), gone = !strcmp(words[6], "gone");
    cpg_callbacks_t callbacks = {.cpg_deliver_fn = deliver, .cpg_confchg_fn = change};
    struct cpg_name group = {.length = 3, .value = "lab"};
    cpg_handle_t handle;
    double began = now();
    /* The daemon may not be there yet. */
    while (cpg_initialize(&handle, &callbacks) != CS_OK ||
           cpg_local_get(handle, &self) != CS_OK || !self) {
        if (now() - began > 30) return fails("there is no corosync");
        usleep(50000);
    }
    while (cpg_join(handle, &group) == CS_ERR_TRY_AGAIN) usleep(50000);
    int descriptor = -1;
    cpg_fd_get(handle, &descriptor);
    struct pollfd waits = {.fd = descriptor, .events = POLLIN};
    while (members < most) {
        if (now() - began > 60) return fails("the members do not come together");
        poll(&waits, 1, 100);
        cpg_dispatch(handle, CS_DISPATCH_ALL);
    }
    printf("{}\n");
    fflush(stdout);
    char *message = calloc(1, length + 1);
    struct iovec piece = {.iov_base = message, .iov_len = length};
    uint64_t cast = 0, at_start = 0, octets_then = 0;
    size_t samples = 0;
    double start = now(), sent = 0, used = 0, measured = 0;
    longest = 0, last = 0;
    for (;;) {
        double time = now();
        if (!measured && time - start >= warm)
            measured = time, at_start = delivered, octets_then = octets, used = processor();
        if (measured && time - measured >= seconds) break;
        if (gone && first_after > 100) break;
        int casts = rank < senders, full = 0;
        if (one && cast > own) casts = 0;
        if (gone && time - sent < .002) casts = 0;
        /* No more than a little at once, so that it takes what comes in between. */
        for (int some = 0; casts && some < (one || gone ? 1 : 16); some++) {
            cs_error_t error = cpg_mcast_joined(handle, CPG_TYPE_AGREED, &piece, 1);
            if (error == CS_ERR_TRY_AGAIN) { full = 1; break; }
            if (error != CS_OK) return fails("a cast failed");
            cast++, sent = now();
        }
        uint64_t before = own;
        poll(&waits, 1, casts && !full && !one && !gone ? 0 : 1);
        cpg_dispatch(handle, CS_DISPATCH_ALL);
        if (one && measured && own > before && samples < SAMPLES) times[samples++] = now() - sent;
    }
    double took = now() - measured, processed = processor() - used;
    qsort(times, samples, sizeof *times, compare);
    printf("{\"delivered\":%llu,\"octets\":%llu,\"seconds\":%.6f,\"processor\":%.6f,"
           "\"p50\":%.9f,\"p99\":%.9f,\"longest\":%.6f}\n",
           (unsigned long long)(delivered - at_start), (unsigned long long)(octets - octets_then),
           took, processed, samples ? times[samples / 2] : 0,
           samples ? times[samples * 99 / 100] : 0, longest);
    fflush(stdout);
    cpg_finalize(handle);
    free(message);
    return 0;
}
