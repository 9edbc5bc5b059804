/* The front in C: brings one hook call to the router, or becomes the cold run if no router takes it.
 *
 * Run as "native FOLDER COLD... run EVENT": FOLDER holds the router's sockets, and what follows is the command line of
 * the cold run. What it says to the router is told in hookrouter/_serving/protocol.py; python_call.py does the same.
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

#define PROTOCOL "HKR3"

/* Milliseconds for the router to say that it is ready. One that says nothing is hung: its socket is removed. */
#define PATIENCE 2000

/* Bytes of stdin that are kept: one more than is routed, so that a payload that is too large is seen as such. */
#define MOST (16u * 1024 * 1024 + 1)

#define CHUNK (256 * 1024)
#define ATTEMPTS 2

/* Bytes that tell how a call ends: a sign, its number, and the exit code if stdout cannot be written. */
#define END 3

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

/* Whether this user or root listens, as the system says: another one would get all that a hook is told. */
static int is_ours(int connection)
{
#ifdef SO_PEERCRED
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        return 0;
    return peer.uid == geteuid() || peer.uid == 0;
#else
    uid_t user;
    gid_t group;
    if (getpeereid(connection, &user, &group) != 0)
        return 0;
    return user == geteuid() || user == 0;
#endif
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
    if (is_connected && is_ours(connection)) {
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

/* What was read of stdin. */
struct payload {
    char *data;
    size_t size;
    int is_read;
};

/* Read stdin to its end, and keep as much as matters; returns 0 if it cannot be read. */
static int read_stdin(struct payload *payload)
{
    size_t space = 0;
    int flags = fcntl(0, F_GETFL);
    if (flags >= 0 && flags & O_NONBLOCK)
        fcntl(0, F_SETFL, flags & ~O_NONBLOCK);
    payload->is_read = 1;
    for (;;) {
        if (payload->size == space && space < MOST) {
            size_t wanted = space ? 4 * space : CHUNK;
            char *larger = realloc(payload->data, wanted < MOST ? wanted : MOST);
            if (!larger)
                return 0;
            payload->data = larger;
            space = wanted < MOST ? wanted : MOST;
        }
        static char rest[CHUNK];
        int is_kept = payload->size < space;
        ssize_t got = is_kept ? read(0, payload->data + payload->size, space - payload->size) : read(0, rest, CHUNK);
        if (got == 0)
            return 1;
        if (got > 0 && is_kept)
            payload->size += (size_t)got;
        else if (got < 0 && errno != EINTR) {
            payload->is_read = payload->size > 0;
            return 0;
        }
    }
}

static int write_all(int descriptor, const char *data, size_t size)
{
    while (size) {
        ssize_t written = write(descriptor, data, size);
        if (written >= 0) {
            data += written;
            size -= (size_t)written;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            struct pollfd watched = {.fd = descriptor, .events = POLLOUT};
            poll(&watched, 1, -1);
        } else if (errno != EINTR) {
            return 0;
        }
    }
    return 1;
}

/* Return a file without a name that holds this, at its beginning; -1 if there can be none. */
static int memory_file(const char *data, size_t size)
{
#ifdef MFD_CLOEXEC
    int file = memfd_create("hook", MFD_CLOEXEC);
#else
    const char *folder = getenv("TMPDIR");
    char path[1024];
    snprintf(path, sizeof path, "%s/hookrouter-XXXXXX", folder && *folder ? folder : "/tmp");
    int file = mkstemp(path);
    if (file >= 0) {
        unlink(path);
        fcntl(file, F_SETFD, FD_CLOEXEC);
    }
#endif
    if (file >= 0 && size && (!write_all(file, data, size) || lseek(file, 0, SEEK_SET) != 0)) {
        close(file);
        return -1;
    }
    return file;
}

/* Write what a file holds to a descriptor; returns whether all of it could be written. */
static int copy(int file, int descriptor)
{
    char chunk[8192];
    ssize_t got;
    off_t size = lseek(file, 0, SEEK_END);
    if (size <= 0 || lseek(file, 0, SEEK_SET) != 0)
        return size == 0;
    while ((got = read(file, chunk, sizeof chunk)) > 0)
        if (!write_all(descriptor, chunk, (size_t)got))
            return 0;
    return got == 0;
}

/* Be the program that the cold run starts; with what was read of stdin, if it was. */
static int run_cold(char **cold, const struct payload *payload)
{
    if (payload->is_read) {
        int stdin_file = memory_file(payload->data, payload->size);
        int ends[2];
        if (stdin_file < 0 && pipe(ends) == 0) {
            /* The system lets this process write no file of that size: another process writes it into a pipe. */
            if (fork() == 0) {
                close(ends[0]);
                write_all(ends[1], payload->data, payload->size);
                _exit(0);
            }
            close(ends[1]);
            stdin_file = ends[0];
        }
        dup2(stdin_file, 0);
    }
    signal(SIGXFSZ, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    execv(cold[0], cold);
    fprintf(stderr, "hookrouter: cannot start %s: %s\n", cold[0], strerror(errno));
    return 1;
}

/* Make the pipe whose end tells the call that this process has ended; returns whether it could be made. */
static int make_life(int ends[2])
{
    if (pipe(ends) != 0)
        return 0;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    return 1;
}

/* Give the call's descriptors to the router; returns whether they were sent. */
static int give(int connection, const int files[3], int here, int life)
{
    int given[5] = {files[0], files[1], files[2], here, life};
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
static int ended(int connection, unsigned char end[END])
{
    size_t got = 0;
    while (got < END) {
        ssize_t count = recv(connection, end + got, END - got, 0);
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
        return 1;
    }
    const char *folder = arguments[1];
    char **cold = arguments + 2;
    struct payload payload = {0};
    int here = -1;
    struct stat status;
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
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
        int is_read = payload.is_read || read_stdin(&payload);
        /* What is written counts only with the end of the call: a call that is lost has written nothing. */
        int files[3] = {-1, -1, -1};
        if (is_read)
            files[0] = memory_file(payload.data, payload.size);
        for (int index = 1; index < 3 && files[index - 1] >= 0; index++)
            files[index] = memory_file(NULL, 0);
        int life[2];
        if (files[2] < 0 || !make_life(life)) {
            /* Nothing was given away: the cold run says what is wrong, or copes with it. */
            close(connection);
            break;
        }
        unsigned char end[END];
        int is_told = give(connection, files, here, life[0]) && ended(connection, end);
        close(connection);
        if (is_told) {
            int is_written = copy(files[1], 1);
            /* A reason that nobody reads makes a refusal none the less. */
            copy(files[2], 2);
            if (!is_written)
                return end[2];
            if (end[0] != 'K')
                return end[1];
            if (end[1] == 0 || end[1] >= NSIG)
                return 1;
            signal(end[1], SIG_DFL);
            kill(getpid(), end[1]);
            return 128 + end[1];
        }
        close(life[0]);
        close(life[1]);
        for (int index = 0; index < 3; index++)
            close(files[index]);
    }
    return run_cold(cold, &payload);
}
