/* Random calls, against a model of which handles are alive and what was said.
 *
 *   random SEQUENCES SEED
 */
#include "check.h"

enum { HANDLES = 6, STEPS = 40 };

/* The model: two endpoints, and the associations that were handed out. */
static sw_endpoint *ends[2];
static char addresses[2][32];
static struct {
    sw_association *alive;
    int end, over;
} known[HANDLES];

static uint64_t state;
static int is_stream;

static unsigned draw(unsigned below)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (unsigned)(state >> 33) % below;
}

static int find(const sw_association *alive)
{
    int n;
    for (n = 0; n < HANDLES; n++)
        if (known[n].alive == alive)
            return n;
    return -1;
}

/* A handle is handed out: a new one, or nothing. */
static void hand_out(int end, int error, sw_association *made)
{
    int free_one = find(NULL);
    CHECK((error == 0) == (made != NULL) && error <= 0 && error != SW_ERROR_BROKEN);
    if (error < 0)
        return;
    CHECK(find(made) < 0 && sw_user(made) == NULL);
    known[free_one].alive = made, known[free_one].end = end, known[free_one].over = 0;
    CHECK(sw_set_user(made, &known[free_one]) == 0);
}

static void use(int n)
{
    static char octets[70000];
    sw_association *a = known[n].alive;
    sw_properties properties = SW_PROPERTIES_INIT;
    sw_path_report report = SW_PATH_REPORT_INIT;
    size_t length = draw(4) ? draw(100) : draw(sizeof octets), at, room;
    uint32_t code;
    int error;
    ssize_t done;
    CHECK(sw_user(a) == &known[n]);
    switch (draw(14)) {
    default:
        memset(octets, (int)length & 0xff, length);
        properties.has = draw(2) ? SW_NUMBER | SW_PRIORITY : 0;
        properties.number = draw(9), properties.priority = (uint8_t)draw(256);
        properties.lifetime_us = draw(8) ? 0 : draw(100000);
        done = sw_send(a, octets, length, draw(2) && !is_stream ? &properties : NULL, 0);
        CHECK(done == (ssize_t)length || (is_stream && done > 0 && done < (ssize_t)length) ||
              (done <= SW_ERROR_AGAIN && done > SW_ERROR_SYSTEM) ||
              (done == SW_ERROR_INVALID && length == 0)); /* over xtp */
        break;
    case 3: case 4: case 5:
        done = sw_receive(a, octets, length, &properties, 0);
        CHECK((done >= 0 && done <= (ssize_t)length) ||
              (done <= SW_ERROR_AGAIN && done > SW_ERROR_SYSTEM));
        if (done >= 0 && !(properties.has & SW_MORE) && done > 1 && !is_stream)
            CHECK(octets[0] == octets[done - 1]); /* of one message */
        break;
    case 6:
        error = sw_end(a, &code);
        CHECK(error <= 0 && (!known[n].over || known[n].over == error));
        known[n].over = error;
        break;
    case 7:
        CHECK(sw_path(a, &report) == 0);
        break;
    case 8:
        CHECK(sw_begin_close(a) == 0);
        break;
    case 11:
        done = sw_reserve(a, length, draw(9));
        CHECK(done >= 1 || (length == 0 && done == SW_ERROR_INVALID));
        for (n = 0; n < done; n++)
            for (at = 0; at < length; at += room) {
                char *place = sw_reserved(a, (size_t)n, at, &room);
                CHECK(place != NULL && room > 0);
                memset(place, n, room);
            }
        break;
    case 12:
        done = sw_commit(a, draw(2000), NULL, 0);
        CHECK(done == SW_ERROR_INVALID || done >= 0 || done > SW_ERROR_SYSTEM);
        break;
    case 13:
        error = sw_finish(a);
        CHECK(is_stream ? error <= 0 && error > SW_ERROR_SYSTEM : error == SW_ERROR_INVALID);
        break;
    case 9:
        error = draw(2) ? sw_close(a, 0) : sw_abort(a, draw(9));
        CHECK(error <= 0 && error > SW_ERROR_SYSTEM);
        known[n].alive = NULL;
        break;
    }
}

static void step(void)
{
    int end = (int)draw(2), n = (int)draw(HANDLES);
    sw_association *made;
    unsigned what;
    switch (draw(8)) {
    case 0:
        if (find(NULL) < 0)
            break;
        n = sw_connect(ends[end], addresses[draw(2)], 0, &made);
        hand_out(end, n, made);
        break;
    case 1:
        if (find(NULL) < 0)
            break;
        n = sw_accept(ends[end], 0, &made);
        hand_out(end, n, made);
        break;
    case 2:
        CHECK(sw_turn(ends[end]) >= 0);
        break;
    case 3:
        if ((made = sw_changed(ends[end], &what)) != NULL)
            CHECK(known[find(made)].end == end && what < 16);
        break;
    default:
        if (known[n].alive)
            use(n);
    }
}

int main(int count, char **words)
{
    static const char *const schemes[] = { "artp", "xtp", "tailored", "tcp", "udp", "stream+tcp" };
    static sw_options options = SW_OPTIONS_INIT;
    long sequences = count == 3 ? atol(words[1]) : 0, sequence;
    for (sequence = 0; sequence < sequences; sequence++) {
        int n, end;
        state = (uint64_t)(atol(words[2]) + sequence) * 0x9e3779b97f4a7c15u + 1;
        for (n = 0; n < 4; n++)
            draw(2);
        memset(known, 0, sizeof known);
        is_stream = sequence % 6 == 5;
        options.flags = draw(4) ? 0 : SW_BACKGROUND;
        with = &options;
        for (end = 0; end < 2; end++) {
            listen_at(schemes[sequence % 6], &ends[end], addresses[end]);
            if (draw(2))
                CHECK((sw_poll_fd(ends[end]) >= 0) == (options.flags == 0));
        }
        for (n = 0; n < STEPS; n++)
            step();
        for (end = 0; end < 2; end++)
            CHECK(sw_free(ends[end]) == 0);
    }
    printf("%ld\n", sequence);
    return sequence == 0;
}
