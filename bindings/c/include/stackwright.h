/* Stackwright's transports for programs in C: messages over ARTP, XTP and others, in user space.
 *
 * An endpoint is a stack of protocols, named by a URL, and an association is a conversation with
 * one peer. The library has no global state, calls nothing of the program, starts no threads unless
 * it is asked to, and writes nothing (but for a panic, a fault of its own, which it tells on stderr).
 *
 *   sw_endpoint *endpoint;                          sw_endpoint *endpoint;
 *   sw_association *peer;                           sw_association *peer;
 *   sw_open("artp://0.0.0.0:4330", NULL,            sw_open("artp://", NULL, &endpoint);
 *           &endpoint);                             sw_connect(endpoint, "192.0.2.7:4330", 3000,
 *   sw_accept(endpoint, -1, &peer);                            &peer);
 *   n = sw_receive(peer, room, sizeof room,         sw_send(peer, "hello", 5, NULL, 3000);
 *                  NULL, -1);                       sw_close(peer, 3000);
 *   sw_free(endpoint);                              sw_free(endpoint);
 *
 * The stack runs within these calls: a program that makes none for long does not answer its peers,
 * which may give it up. One that has nothing else to do waits in sw_wait; one with an event loop
 * waits for sw_poll_fd; one that does something else opens with SW_BACKGROUND.
 *
 * Threads: an endpoint and its associations belong to the thread that opened it. Calls of another
 * thread, or of a signal handler while a call runs, return SW_ERROR_THREAD and change nothing.
 * With SW_BACKGROUND a thread of the library's runs the stack, with the signal mask that sw_open
 * found, and all threads may call: one after the other, but while they wait. What is freed
 * (sw_close, sw_abort, sw_free) no other thread uses any more.
 * After fork(2) a child neither uses nor frees what its parent opened: it calls execve or _exit.
 *
 * Results: 0 or a count; an error is one of SW_ERROR_..., all negative, and no errno.
 * timeout_ms: how long a call waits; 0 not at all, -1 without limit. Signals do not end a wait.
 * Pointers may be NULL only where it is said. A handle that was freed is used no more.
 */
#ifndef STACKWRIGHT_H
#define STACKWRIGHT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SW_VERSION "0.1.0" /* of this header */
#define SW_ABI 1           /* the number in the soname */

const char *sw_version(void); /* of the library that is loaded */
uint32_t sw_abi(void);        /* the same of its ABI */

enum {
    SW_ERROR_AGAIN = -1001,         /* nothing came, or there was no credit, in time */
    SW_ERROR_LATE = -1002,          /* the message would arrive after its lifetime; not sent */
    SW_ERROR_TOO_LONG = -1003,      /* longer than can be sent; see sw_path */
    SW_ERROR_NEVER_EXPIRES = -1004, /* this transport keeps no lifetimes; not sent */
    SW_ERROR_FINISHED = -1005,      /* both sides have finished, in good order */
    SW_ERROR_RESET = -1006,         /* the peer, or the network, ended it */
    SW_ERROR_REFUSED = -1007,       /* the peer does not admit this side */
    SW_ERROR_UNREACHABLE = -1008,   /* the address does not answer, or has no name */
    SW_ERROR_UNAVAILABLE = -1009,   /* the address is in use or not allowed; no descriptors left */
    SW_ERROR_EXPIRED = -1010,       /* the peer did not answer for too long */
    SW_ERROR_INSECURE = -1011,      /* what arrived is forged */
    SW_ERROR_SYSTEM = -1012,        /* the operating system failed */
    SW_ERROR_INVALID = -1013,       /* an argument: NULL, out of range, unreadable */
    SW_ERROR_THREAD = -1014,        /* another thread's endpoint, or it is in a call */
    SW_ERROR_BROKEN = -1015         /* a fault of the library: free the endpoint */
};

const char *sw_error_text(int error); /* a sentence; never NULL, never freed */
int sw_errno(int error);              /* the errno of about the same meaning; 0: no error */

typedef struct sw_endpoint sw_endpoint;
typedef struct sw_association sw_association;

/* Structures begin with their size, which ..._INIT sets, so that later versions can have more. */

typedef struct sw_options {
    size_t size;
    uint32_t flags;    /* SW_SHARED_PORT: other endpoints of this user may listen there, too;
                          SW_BACKGROUND: a thread runs the stack, and all threads may call */
    uint32_t arrivals; /* associations that wait to be accepted, at most; 0: 256; up to 65536 */
    uint64_t credit;   /* octets that a peer may send before they are received, and so the longest
                          message that it can send; 0: 1 MiB; up to 2^40 */
    uint32_t spin_us;  /* how long a call polls before it sleeps; up to a second */
    uint32_t reserved; /* 0 */
} sw_options;

#define SW_SHARED_PORT 1u
#define SW_BACKGROUND 2u
/* clang-format off */
#define SW_OPTIONS_INIT { sizeof(sw_options), 0, 0, 0, 0, 0 }

typedef struct sw_properties {
    size_t size;
    uint32_t has;         /* SW_NUMBER, SW_PRIORITY: these are set; received: SW_MORE, too */
    uint32_t number;      /* the program's own; the transport may count instead */
    uint32_t lifetime_us; /* how long the message is of use from now on; 0: for ever */
    uint8_t priority;     /* 0 is the most urgent, 128 the default */
    uint8_t reserved[3];  /* 0 */
} sw_properties;

#define SW_NUMBER 1u
#define SW_PRIORITY 2u
#define SW_MORE 4u /* the message goes on: the next call receives what follows */
#define SW_PROPERTIES_INIT { sizeof(sw_properties), 0, 0, 0, 0, { 0, 0, 0 } }

typedef struct sw_path_report { /* 0: not known */
    size_t size;
    uint64_t longest;       /* octets that a message may have */
    uint64_t window;        /* the congestion window, in octets */
    uint64_t pace;          /* octets a second */
    uint64_t in_flight;     /* octets that are neither acknowledged nor lost */
    uint64_t lost;          /* octets that were taken for lost */
    uint64_t retransmitted; /* packets */
    uint64_t timeouts;      /* retransmission timeouts */
    uint32_t round_trip_us; /* smoothed */
    uint32_t variation_us;  /* its mean deviation */
    uint32_t least_us;      /* the shortest */
    uint32_t reserved;
} sw_path_report;

#define SW_PATH_REPORT_INIT { sizeof(sw_path_report), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
/* clang-format on */

/* Opens an endpoint. The URL is scheme://host:port to listen there (port 0: any), or scheme://
 * alone only to connect. The schemes are artp, xtp and tailored, which deliver each message once;
 * tcp, the same over the kernel's TCP, each message behind its length; and udp, which promises
 * nothing. `stackwright perf` has the same, on the same wire. stream+tcp carries octets in order
 * and no messages: TCP as it is. artp, xtp and udp may be in a server that several programs share,
 * `stackwright host`: artp://host:port?server=FOLDER, where FOLDER has its sockets. Without a server
 * there, what is asked for is SW_ERROR_UNREACHABLE. options: NULL for the defaults. */
int sw_open(const char *url, const sw_options *options, sw_endpoint **endpoint);

/* Frees an endpoint and all its associations; peers are told as far as that leaves at once. Close
 * those that matter before. */
int sw_free(sw_endpoint *endpoint);

/* Writes the address at which it listens, as getsockname(2) does. SW_ERROR_INVALID: nowhere. */
int sw_address(const sw_endpoint *endpoint, struct sockaddr *address, socklen_t *length);

/* Opens an association with host:port; a name is resolved first, which may take long. With
 * timeout_ms 0 it only begins to: it can be used, and sw_changed tells SW_CHANGED_OPEN once it is
 * open, or SW_CHANGED_ENDED. */
int sw_connect(sw_endpoint *endpoint, const char *address, int timeout_ms,
               sw_association **association);

/* Accepts the next association that arrives. */
int sw_accept(sw_endpoint *endpoint, int timeout_ms, sw_association **association);

/* Runs the stack until something happened, or the time is over. Returns 1 if something has: then
 * sw_changed names associations, and sw_accept may find one. */
int sw_wait(sw_endpoint *endpoint, int timeout_ms);

/* The descriptor for poll(2), epoll(7), libuv or GLib: it can be read while the stack has something
 * to do, timers included, and then sw_turn does it. Only wait for it; the endpoint closes it.
 * SW_ERROR_INVALID with SW_BACKGROUND. */
int sw_poll_fd(sw_endpoint *endpoint);

/* Runs the stack without waiting. Returns 1 if something happened, as sw_wait does. */
int sw_turn(sw_endpoint *endpoint);

/* Returns the next association on which something happened since it was last returned, and what
 * holds now; NULL when there is none. The first call begins with all of them. */
sw_association *sw_changed(sw_endpoint *endpoint, unsigned *what);

#define SW_CHANGED_READABLE 1u /* sw_receive returns at once */
#define SW_CHANGED_WRITABLE 2u /* there is credit */
#define SW_CHANGED_OPEN 4u     /* it was opened, and has not ended */
#define SW_CHANGED_ENDED 8u    /* sw_end tells why; what arrived before can be received */

/* Sends a message: length octets. Waits for credit. properties may be NULL. When it
 * returns, the octets are the program's again, and the message is on its way. xtp carries no empty
 * message: SW_ERROR_INVALID. A stream takes as much as there is credit for, at least an octet, and
 * no properties. Returns what was taken. */
ssize_t sw_send(sw_association *association, const void *octets, size_t length,
                const sw_properties *properties, int timeout_ms);

/* Reserves memory for up to count messages of length octets, in the layout in which they leave:
 * what is written there and committed is not copied, where artp carries it. Returns for how many:
 * at least one, some 64 KiB together. It replaces what was reserved and not committed. */
ssize_t sw_reserve(sw_association *association, size_t length, size_t count);

/* Returns where the octet at offset of a reserved message is, and in room how many follow it
 * there; NULL behind the end. It is the program's until sw_commit, sw_reserve or the end of the
 * association. What is not written is zero, or what this association carried before. */
void *sw_reserved(sw_association *association, size_t message, size_t offset, size_t *room);

/* Sends the first octets of what is reserved, message behind message: the last may be shorter.
 * Returns octets. After an error all is still reserved. */
ssize_t sw_commit(sw_association *association, size_t octets, const sw_properties *properties,
                  int timeout_ms);

/* Receives a message, or as much of it as there is room for: SW_MORE tells then that it goes on,
 * where properties are not NULL. Returns the octets received; a message may have none, and of a
 * stream 0 is the end. What arrived before the end is received before the end is told. */
ssize_t sw_receive(sw_association *association, void *octets, size_t room,
                   sw_properties *properties, int timeout_ms);

/* The same into several areas, at most 1024, one after the other; no two overlap. */
ssize_t sw_receive_iov(sw_association *association, const struct iovec *areas, int count,
                       sw_properties *properties, int timeout_ms);

/* Ends an association when all that was sent has arrived, and waits for that. It is freed whatever
 * is returned (but for SW_ERROR_INVALID and SW_ERROR_THREAD); after SW_ERROR_AGAIN closing goes on
 * while the endpoint is used. */
int sw_close(sw_association *association, int timeout_ms);

/* Sends no more on a stream, and goes on receiving: the peer receives what was sent, and the end.
 * SW_ERROR_AGAIN before it is open; SW_ERROR_INVALID for messages, which have one end. */
int sw_finish(sw_association *association);

/* Begins to end it in the same way, and neither waits nor frees it: once sw_changed tells
 * SW_CHANGED_ENDED, sw_close returns at once. */
int sw_begin_close(sw_association *association);

/* Ends an association at once, and frees it. The peer's calls fail with SW_ERROR_RESET, and its
 * sw_end tells code, where the transport can carry one. */
int sw_abort(sw_association *association, uint32_t code);

/* Returns 0 while it lives; then why it ended, and in code, unless that is NULL, what the peer's
 * program said with SW_ERROR_RESET or SW_ERROR_REFUSED. */
int sw_end(const sw_association *association, uint32_t *code);

/* Keeps a pointer of the program's; NULL at first. */
int sw_set_user(sw_association *association, void *user);
void *sw_user(const sw_association *association);

/* Writes the peer's address, as getpeername(2) does. SW_ERROR_AGAIN: not known yet. */
int sw_remote(const sw_association *association, struct sockaddr *address, socklen_t *length);

/* Reports what is known of the path. */
int sw_path(const sw_association *association, sw_path_report *report);

/* Writes a qlog (0.3, JSON text sequences) into the file fd from now on: when the association was
 * opened and ended, and what is known of the path as it changes. It is whole once the association
 * was freed. fd stays the program's, which may close it at once. */
int sw_qlog(sw_association *association, int fd);

#ifdef __cplusplus
}
#endif

#endif
