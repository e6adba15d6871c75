/* A server with an event loop of its own: it sends back what comes on any number of associations,
 * until its input ends.
 *
 *   poll artp://127.0.0.1:4330
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stackwright.h>
#include <stdio.h>
#include <unistd.h>

/* Sends back what there is, and keeps no message that there is no credit for. */
static void answer(sw_association *peer)
{
    static char room[65536];
    ssize_t n;
    while ((n = sw_receive(peer, room, sizeof room, NULL, 0)) >= 0)
        sw_send(peer, room, (size_t)n, NULL, 0);
}

int main(int count, char **words)
{
    struct sockaddr_in here;
    socklen_t length = sizeof here;
    struct pollfd polled[2];
    sw_endpoint *endpoint;
    sw_association *peer;
    unsigned what;
    int error = count == 2 ? sw_open(words[1], NULL, &endpoint) : SW_ERROR_INVALID;
    if (error < 0) {
        fprintf(stderr, "poll URL: %s\n", sw_error_text(error));
        return 2;
    }
    sw_address(endpoint, (struct sockaddr *)&here, &length);
    printf("%d\n", ntohs(here.sin_port));
    fflush(stdout);
    polled[0].fd = sw_poll_fd(endpoint);
    polled[1].fd = STDIN_FILENO;
    polled[0].events = polled[1].events = POLLIN;
    while (poll(polled, 2, -1) >= 0 && !polled[1].revents) {
        if (sw_turn(endpoint) < 0)
            break;
        while (sw_accept(endpoint, 0, &peer) == 0)
            ;
        while ((peer = sw_changed(endpoint, &what)) != NULL) {
            answer(peer);
            if (what & SW_CHANGED_ENDED)
                sw_close(peer, 0);
        }
    }
    return sw_free(endpoint) < 0;
}
