/* A client of `stackwright perf serve`: requests, each answered by the same octets.
 *
 *   perf SCHEME:// HOST:PORT REQUESTS
 */
#include "check.h"

enum { REQUEST = 2, REPLY = 3, LENGTH = 1000 };

int main(int count, char **words)
{
    unsigned char request[LENGTH], reply[LENGTH];
    sw_endpoint *endpoint;
    sw_association *peer;
    long n, requests = count == 4 ? atol(words[3]) : 0;
    CHECK(requests > 0 && sw_open(words[1], NULL, &endpoint) == 0);
    CHECK(sw_connect(endpoint, words[2], 3000, &peer) == 0);
    for (n = 0; n < requests; n++) {
        memset(request, (int)n, sizeof request);
        request[0] = REQUEST;
        CHECK(sw_send(peer, request, sizeof request, NULL, 3000) == LENGTH);
        CHECK(sw_receive(peer, reply, sizeof reply, NULL, 3000) == LENGTH);
        CHECK(reply[0] == REPLY && memcmp(reply + 1, request + 1, LENGTH - 1) == 0);
    }
    CHECK(sw_close(peer, 3000) == 0 && sw_free(endpoint) == 0);
    return 0;
}
