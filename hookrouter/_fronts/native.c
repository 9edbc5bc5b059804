/* The front in C: brings one hook call to the router, or becomes the cold run if no router takes it.
 *
 * Run as "native FOLDER COLD... run EVENT": FOLDER holds the router's sockets, and what follows is the command line of
 * the cold run. What it says to the router is told in hookrouter/_serving/protocol.py; python_front.py does the same.
 * "native --protocol" prints the protocol that it speaks, to show that it runs on this machine.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define PROTOCOL "HKR1"

/* Milliseconds for the router to say that it is ready. One that says nothing is hung: its socket is removed. */
#define PATIENCE 2000

/* Bytes of stdin that are kept: one more than is routed, so that a payload that is too large is seen as such. */
#define MOST (16u * 1024 * 1024 + 1)

#define CHUNK (256 * 1024)
#define ATTEMPTS 2

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

extern char **environ;

static long long now(void)
{
    struct timespec moment;
    clock_gettime(CLOCK_MONOTONIC, &moment);
    return moment.tv_sec * 1000LL + moment.tv_nsec / 1000000;
}

/* Be the program that the cold run starts; with what was read of stdin, if it was. */
static int run_cold(char **cold, int kept)
{
    if (kept >= 0) {
        lseek(kept, 0, SEEK_SET);
        dup2(kept, 0);
    }
    execv(cold[0], cold);
    fprintf(stderr, "hookrouter: cannot start %s: %s\n", cold[0], strerror(errno));
    return 1;
}

/* Add a text and its end; returns where the next one goes. */
static char *put(char *place, const char *text)
{
    size_t size = strlen(text) + 1;
    memcpy(place, text, size);
    return place + size;
}

/* Return a hello, and its size; NULL if there is no memory for it. */
static char *hello(char **cold, size_t *size)
{
    char numbers[3][24];
    size_t words = 0, body = 0;
    mode_t mask = umask(077);
    umask(mask);
    for (char **word = cold; *word; word++, words++)
        body += strlen(*word) + 1;
    for (char **variable = environ; *variable; variable++)
        body += strlen(*variable) + 1;
    snprintf(numbers[0], sizeof numbers[0], "%ld", (long)getppid());
    snprintf(numbers[1], sizeof numbers[1], "%lo", (unsigned long)mask);
    snprintf(numbers[2], sizeof numbers[2], "%zu", words);
    for (int index = 0; index < 3; index++)
        body += strlen(numbers[index]) + 1;
    if (body > UINT32_MAX)
        return NULL;
    char *message = malloc(body + 8);
    if (!message)
        return NULL;
    memcpy(message, PROTOCOL, 4);
    for (int byte = 0; byte < 4; byte++)
        message[4 + byte] = (char)(body >> (24 - 8 * byte));
    char *place = message + 8;
    for (int index = 0; index < 3; index++)
        place = put(place, numbers[index]);
    for (char **word = cold; *word; word++)
        place = put(place, *word);
    for (char **variable = environ; *variable; variable++)
        place = put(place, *variable);
    *size = body + 8;
    return message;
}

/* Wait until a connection can be used, up to a moment; returns whether it can. */
static int wait_for(int connection, short events, long long deadline)
{
    for (;;) {
        struct pollfd watched = {.fd = connection, .events = events};
        long long left = deadline - now();
        if (left < 0)
            left = 0;
        int count = poll(&watched, 1, (int)left);
        if (count > 0)
            return 1;
        if (count == 0) {
            errno = ETIMEDOUT;
            return 0;
        }
        if (errno != EINTR)
            return 0;
    }
}

/* Send a hello and hear the answer, on a connection that does not block; returns whether the router is ready. */
static int greet(int connection, const char *message, size_t size)
{
    long long deadline = now() + PATIENCE;
    while (size) {
        ssize_t sent = send(connection, message, size, MSG_NOSIGNAL);
        if (sent >= 0) {
            message += sent;
            size -= (size_t)sent;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            if (!wait_for(connection, POLLOUT, deadline))
                return 0;
        } else if (errno != EINTR) {
            return 0;
        }
    }
    for (;;) {
        char answer = 0;
        ssize_t got = recv(connection, &answer, 1, 0);
        if (got >= 0) {
            errno = 0;
            return got == 1 && answer == 'R';
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
            if (!wait_for(connection, POLLIN, deadline))
                return 0;
        } else if (errno != EINTR) {
            return 0;
        }
    }
}

/* Return the connection to a router that is ready for the call; -1 for none. */
static int connected(const char *folder, int here, char **cold)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "calls"};
    int connection = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connection < 0)
        return -1;
    fcntl(connection, F_SETFD, FD_CLOEXEC);
    fcntl(connection, F_SETFL, fcntl(connection, F_GETFL) | O_NONBLOCK);
#ifdef SO_NOSIGPIPE
    int yes = 1;
    setsockopt(connection, SOL_SOCKET, SO_NOSIGPIPE, &yes, sizeof yes);
#endif
    /* The path may be longer than an address can be. */
    int is_connected = 0;
    if (chdir(folder) == 0) {
        is_connected = connect(connection, (struct sockaddr *)&address, sizeof address) == 0;
        if (fchdir(here) != 0)
            is_connected = 0;
    }
    if (is_connected) {
        size_t size = 0;
        char *message = hello(cold, &size);
        int is_ready = message && greet(connection, message, size);
        int is_hung = message && !is_ready && errno == ETIMEDOUT;
        free(message);
        if (is_ready) {
            fcntl(connection, F_SETFL, fcntl(connection, F_GETFL) & ~O_NONBLOCK);
            return connection;
        }
        if (is_hung && chdir(folder) == 0) {
            unlink("calls");
            if (fchdir(here) != 0)
                perror("hookrouter");
        }
    }
    close(connection);
    return -1;
}

static int memory_file(void)
{
#ifdef MFD_CLOEXEC
    return memfd_create("hook", MFD_CLOEXEC);
#else
    const char *folder = getenv("TMPDIR");
    char path[1024];
    snprintf(path, sizeof path, "%s/hookrouter-XXXXXX", folder && *folder ? folder : "/tmp");
    int file = mkstemp(path);
    if (file >= 0) {
        unlink(path);
        fcntl(file, F_SETFD, FD_CLOEXEC);
    }
    return file;
#endif
}

/* Read stdin to its end into a file in memory; returns its descriptor, -1 if nothing of stdin could be kept. */
static int kept_stdin(void)
{
    static char chunk[CHUNK];
    size_t kept = 0;
    int file = memory_file();
    if (file < 0)
        return -1;
    for (;;) {
        ssize_t got = read(0, chunk, sizeof chunk);
        if (got == 0)
            return file;
        if (got < 0) {
            if (errno == EINTR)
                continue;
            if (errno == EAGAIN || errno == EWOULDBLOCK) {
                struct pollfd watched = {.fd = 0, .events = POLLIN};
                poll(&watched, 1, -1);
                continue;
            }
            return file;
        }
        size_t size = (size_t)got < MOST - kept ? (size_t)got : MOST - kept;
        for (size_t done = 0; done < size;) {
            ssize_t written = write(file, chunk + done, size - done);
            if (written < 0 && errno != EINTR)
                /* Without memory for it, what was read is lost to the cold run too: it refuses what is cut off. */
                return file;
            done += written > 0 ? (size_t)written : 0;
        }
        kept += size;
    }
}

/* Give the call's descriptors to the router; returns whether they were sent. */
static int give(int connection, int stdin_file, int here)
{
    int given[4] = {stdin_file, 1, 2, here};
    char go = 'G';
    union {
        struct cmsghdr aligned;
        char space[CMSG_SPACE(sizeof given)];
    } control;
    struct iovec data = {.iov_base = &go, .iov_len = 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
    memset(&control, 0, sizeof control);
    message.msg_control = control.space;
    message.msg_controllen = sizeof control.space;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof given);
    memcpy(CMSG_DATA(header), given, sizeof given);
    for (;;) {
        if (sendmsg(connection, &message, MSG_NOSIGNAL) == 1)
            return 1;
        if (errno != EINTR)
            return 0;
    }
}

/* Wait for the end of the call; returns whether the router or the call's process told it. */
static int ended(int connection, unsigned char end[2])
{
    size_t got = 0;
    while (got < 2) {
        ssize_t count = recv(connection, end + got, 2 - got, 0);
        if (count > 0)
            got += (size_t)count;
        else if (count == 0 || errno != EINTR)
            return 0;
    }
    return end[0] == 'X' || end[0] == 'K' || end[0] == 'E';
}

int main(int count, char **arguments)
{
    if (count == 2 && strcmp(arguments[1], "--protocol") == 0) {
        puts(PROTOCOL);
        return 0;
    }
    if (count < 5) {
        fputs("hookrouter: a front is started by Claude Code: hookrouter install\n", stderr);
        return 2;
    }
    const char *folder = arguments[1];
    char **cold = arguments + 2;
    int kept = -1, here = -1;
    struct stat status;
    /* A socket must not get the number of a descriptor that is closed. */
    int is_fit = !isatty(0) && fstat(0, &status) == 0 && fstat(1, &status) == 0 && fstat(2, &status) == 0;
    if (is_fit) {
        here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
#ifdef O_PATH
        if (here < 0)
            here = open(".", O_PATH | O_CLOEXEC);
#endif
    }
    for (int attempt = 0; here >= 0 && attempt < ATTEMPTS; attempt++) {
        int connection = connected(folder, here, cold);
        if (connection < 0)
            break;
        if (kept < 0 && (kept = kept_stdin()) < 0) {
            close(connection);
            break;
        }
        lseek(kept, 0, SEEK_SET);
        unsigned char end[2];
        int is_told = give(connection, kept, here) && ended(connection, end);
        close(connection);
        if (is_told) {
            if (end[0] != 'K')
                return end[1];
            signal(end[1], SIG_DFL);
            kill(getpid(), end[1]);
            return 128 + end[1];
        }
    }
    return run_cold(cold, kept);
}
