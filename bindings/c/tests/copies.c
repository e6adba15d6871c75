/* Two copies of the library in one process do not know each other: copies LIBRARY LIBRARY */
#define _GNU_SOURCE
#include "check.h"
#include <dlfcn.h>

#define CALL(library, function) (*(__typeof__(&function))dlsym(library, #function))

int main(int count, char **words)
{
    void *one = count == 3 ? dlmopen(LM_ID_NEWLM, words[1], RTLD_NOW) : NULL;
    void *other = one ? dlmopen(LM_ID_NEWLM, words[2], RTLD_NOW) : NULL;
    struct sockaddr_in here;
    socklen_t length = sizeof here;
    sw_endpoint *server, *client;
    sw_association *a, *b;
    char address[32], room[8];
    CHECK(one && other && dlsym(one, "sw_open") != dlsym(other, "sw_open"));
    CHECK(CALL(one, sw_open)("artp://127.0.0.1:0", NULL, &server) == 0);
    CHECK(CALL(other, sw_open)("artp://", NULL, &client) == 0);
    CHECK(CALL(one, sw_address)(server, (struct sockaddr *)&here, &length) == 0);
    snprintf(address, sizeof address, "127.0.0.1:%d", ntohs(here.sin_port));
    CHECK(CALL(other, sw_connect)(client, address, 0, &a) == 0);
    while (CALL(one, sw_accept)(server, 1, &b) != 0)
        CHECK(CALL(other, sw_turn)(client) >= 0);
    while (CALL(other, sw_send)(a, "hello", 5, NULL, 1) < 0)
        CHECK(CALL(one, sw_turn)(server) >= 0);
    CHECK(CALL(one, sw_receive)(b, room, sizeof room, NULL, 5000) == 5);
    CHECK(CALL(one, sw_free)(server) == 0 && CALL(other, sw_free)(client) == 0);
    return 0;
}
