/* An end of the table `bindings`, by calls that wait: over ARTP by the C interface, or over the
 * kernel's TCP.
 *
 *   end artp|tcp echo|bulk LENGTH                 prints its port, and serves one peer
 *   end artp|tcp echo|bulk LENGTH PORT SECONDS    prints seconds an exchange, or Mb/s
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stackwright.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static sw_endpoint *endpoint;
static sw_association *peer;
static int tcp = -1;
static char octets[1 << 20];

static void check(int holds, const char *what)
{
    if (!holds) {
        perror(what);
        exit(1);
    }
}

static int put(size_t length)
{
    ssize_t n = peer ? sw_send(peer, octets, length, NULL, -1) : write(tcp, octets, length);
    return n == (ssize_t)length;
}

static int get(size_t length)
{
    ssize_t n = peer ? sw_receive(peer, octets, length, NULL, -1)
                     : recv(tcp, octets, length, MSG_WAITALL);
    return n == (ssize_t)length;
}

/* Ends when all that was sent has arrived. */
static void finish(void)
{
    if (peer) {
        check(sw_close(peer, -1) == 0 && sw_free(endpoint) == 0, "close");
        return;
    }
    shutdown(tcp, SHUT_WR);
    while (recv(tcp, octets, sizeof octets, 0) > 0)
        ;
    close(tcp);
}

/* Opens to that port, or says where this end listens, and accepts. */
static void open_peer(int over_tcp, const char *port)
{
    struct sockaddr_in at = { .sin_family = AF_INET };
    struct sockaddr *address = (struct sockaddr *)&at;
    socklen_t length = sizeof at;
    char text[32];
    int one = 1, listener;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons((uint16_t)(port ? atoi(port) : 0));
    if (port && over_tcp) {
        tcp = socket(AF_INET, SOCK_STREAM, 0);
        check(connect(tcp, address, length) == 0, "connect");
    } else if (port) {
        snprintf(text, sizeof text, "127.0.0.1:%s", port);
        check(sw_open("artp://", NULL, &endpoint) == 0, "open");
        check(sw_connect(endpoint, text, 5000, &peer) == 0, "connect");
    } else if (over_tcp) {
        listener = socket(AF_INET, SOCK_STREAM, 0);
        check(bind(listener, address, length) == 0 && listen(listener, 1) == 0, "listen");
        getsockname(listener, address, &length);
        printf("%d\n", ntohs(at.sin_port)), fflush(stdout);
        tcp = accept(listener, NULL, NULL);
    } else {
        check(sw_open("artp://127.0.0.1:0", NULL, &endpoint) == 0, "open");
        check(sw_address(endpoint, address, &length) == 0, "address");
        printf("%d\n", ntohs(at.sin_port)), fflush(stdout);
        check(sw_accept(endpoint, -1, &peer) == 0, "accept");
    }
    if (tcp >= 0)
        setsockopt(tcp, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(int count, char **words)
{
    int echoes = count > 3 && strcmp(words[2], "echo") == 0;
    size_t length = count > 3 ? (size_t)atol(words[3]) : 0;
    double seconds = count == 6 ? atof(words[5]) : 0, begin, messages;
    check((count == 4 || count == 6) && length > 0 && length <= sizeof octets, "arguments");
    open_peer(strcmp(words[1], "tcp") == 0, count == 6 ? words[4] : NULL);
    if (count == 4) {
        while (get(length) && (!echoes || put(length)))
            ;
        finish();
        return 0;
    }
    begin = now();
    for (messages = 0; now() - begin < seconds; messages++)
        check(put(length) && (!echoes || get(length)), "the peer");
    if (echoes)
        printf("%.12f\n", (now() - begin) / messages);
    finish();
    if (!echoes)
        printf("%.3f\n", 8e-6 * messages * (double)length / (now() - begin));
    return 0;
}
