/* Messages back and forth, by calls that wait.
 *
 *   echo serve artp://127.0.0.1:4330              sends back what comes, on one association
 *   echo ask artp:// 127.0.0.1:4330 WORD ...      sends words, and prints what comes back
 */
#include <stackwright.h>
#include <stdio.h>
#include <string.h>

static int failed(const char *what, int error)
{
    fprintf(stderr, "%s: %s\n", what, sw_error_text(error));
    return 1;
}

static int serve(sw_endpoint *endpoint)
{
    static char room[65536];
    sw_association *peer;
    ssize_t n;
    int error = sw_accept(endpoint, -1, &peer);
    if (error < 0)
        return failed("accept", error);
    while ((n = sw_receive(peer, room, sizeof room, NULL, -1)) >= 0)
        if ((n = sw_send(peer, room, (size_t)n, NULL, -1)) < 0)
            break;
    sw_close(peer, 1000);
    return n == SW_ERROR_FINISHED ? 0 : failed("the peer", (int)n);
}

static int ask(sw_endpoint *endpoint, const char *address, char **words)
{
    char room[1024];
    sw_association *peer;
    ssize_t n;
    int error = sw_connect(endpoint, address, 3000, &peer);
    if (error < 0)
        return failed(address, error);
    for (; *words; words++) {
        if ((n = sw_send(peer, *words, strlen(*words), NULL, 3000)) < 0)
            return failed("send", (int)n);
        if ((n = sw_receive(peer, room, sizeof room, NULL, 3000)) < 0)
            return failed("receive", (int)n);
        printf("%.*s\n", (int)n, room);
    }
    error = sw_close(peer, 3000);
    return error < 0 ? failed("close", error) : 0;
}

int main(int count, char **words)
{
    sw_endpoint *endpoint;
    int error, code;
    if (count < 3 || (count < 5 && strcmp(words[1], "ask") == 0)) {
        fprintf(stderr, "echo serve URL | echo ask SCHEME:// HOST:PORT WORD ...\n");
        return 2;
    }
    if ((error = sw_open(words[2], NULL, &endpoint)) < 0)
        return failed(words[2], error);
    code = strcmp(words[1], "ask") ? serve(endpoint) : ask(endpoint, words[3], words + 4);
    sw_free(endpoint);
    return code;
}
