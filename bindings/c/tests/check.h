/* What the tests in C share: checks, and two endpoints of one thread that talk to each other. */
#include <arpa/inet.h>
#include <stackwright.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(holds) \
    ((holds) ? (void)0 : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #holds), exit(1)))

/* What endpoints are opened with. */
static const sw_options *with;

static void open_client(const char *scheme, sw_endpoint **client)
{
    char url[64];
    snprintf(url, sizeof url, "%s://", scheme);
    CHECK(sw_open(url, with, client) == 0);
}

static void listen_at(const char *scheme, sw_endpoint **server, char *address)
{
    char url[64];
    struct sockaddr_in here;
    socklen_t length = sizeof here;
    snprintf(url, sizeof url, "%s://127.0.0.1:0", scheme);
    CHECK(sw_open(url, with, server) == 0);
    CHECK(sw_address(*server, (struct sockaddr *)&here, &length) == 0 && length == sizeof here);
    snprintf(address, 32, "127.0.0.1:%d", ntohs(here.sin_port));
}

/* Receives what has been sent; the peer's end is in this thread, too. */
static inline ssize_t receive(sw_endpoint *other, sw_association *peer, void *room, size_t most,
                              sw_properties *properties)
{
    ssize_t n;
    while ((n = sw_receive(peer, room, most, properties, 1)) == SW_ERROR_AGAIN)
        CHECK(sw_turn(other) >= 0);
    return n;
}

static inline void exchange(sw_endpoint *server, sw_endpoint *client, sw_association *a,
                            sw_association *b)
{
    char room[8];
    CHECK(sw_send(a, "hello", 5, NULL, 1000) == 5);
    CHECK(receive(client, b, room, sizeof room, NULL) == 5 && memcmp(room, "hello", 5) == 0);
    CHECK(sw_send(b, "there", 5, NULL, 1000) == 5);
    CHECK(receive(server, a, room, sizeof room, NULL) == 5 && memcmp(room, "there", 5) == 0);
}

/* Two ends of an association that works. */
static inline void pair(const char *scheme, sw_endpoint **server, sw_endpoint **client,
                        sw_association **a, sw_association **b)
{
    char address[32];
    int error;
    listen_at(scheme, server, address);
    open_client(scheme, client);
    CHECK(sw_connect(*client, address, 0, a) == 0);
    while ((error = sw_accept(*server, 1, b)) != 0) {
        CHECK(error == SW_ERROR_AGAIN && sw_turn(*client) >= 0);
    }
    while (sw_send(*a, "hello", 5, NULL, 1) == SW_ERROR_AGAIN)
        CHECK(sw_turn(*server) >= 0);
    CHECK(receive(*client, *b, address, 5, NULL) == 5);
    exchange(*server, *client, *a, *b);
}
