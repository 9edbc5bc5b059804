/* Calls of macOS that Linux has not, told from /proc, with the structures of Apple's headers (sys/sysctl.h, sys/proc.h).
 * Loaded beside the C library (LD_PRELOAD), where ctypes finds them. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct extern_proc {
    struct { int64_t seconds; int32_t micros; } p_starttime;
    void *p_vmspace, *p_sigacts;
    int p_flag;
    char p_stat;
    int32_t p_pid, p_oppid;
    int p_dupfd;
    void *user_stack, *exit_thread;
    int p_debugger, sigwait;
    unsigned p_estcpu;
    int p_cpticks;
    uint32_t p_pctcpu;
    void *p_wchan, *p_wmesg;
    unsigned p_swtime, p_slptime;
    struct { int64_t seconds; int32_t micros; } p_realtimer[2], p_rtime;
    uint64_t p_uticks, p_sticks, p_iticks;
    int p_traceflag;
    void *p_tracep;
    int p_siglist;
    void *p_textvp;
    int p_holdcnt;
    uint32_t p_sigmask, p_sigignore, p_sigcatch;
    unsigned char p_priority, p_usrpri;
    char p_nice, p_comm[17];
    void *p_pgrp, *p_addr;
    unsigned short p_xstat, p_acflag;
    void *p_ru;
};

struct eproc {
    void *e_paddr, *e_sess;
    struct { char pc_lock[72]; void *pc_ucred; uint32_t ids[4]; int p_refcnt; } e_pcred;
    struct { int32_t cr_ref; uint32_t cr_uid; short cr_ngroups; uint32_t cr_groups[16]; } e_ucred;
    struct { int dummy; void *dummy2; int dummy3[5]; void *dummy4[3]; } e_vm;
    int32_t e_ppid, e_pgid;
    short e_jobc;
    int32_t e_tdev, e_tpgid;
    void *e_tsess;
    char e_wmesg[8];
    int32_t e_xsize;
    short e_xrssize, e_xccount, e_xswrss;
    int32_t e_flag;
    char e_login[12];
    int32_t e_spare[4];
};

struct kinfo_proc {
    struct extern_proc kp_proc;
    struct eproc kp_eproc;
};

_Static_assert(sizeof(struct extern_proc) == 296, "struct extern_proc");
_Static_assert(sizeof(struct kinfo_proc) == 648, "struct kinfo_proc");

static size_t read_whole(const char *path, char *into, size_t room)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return 0;
    size_t length = fread(into, 1, room, file);
    fclose(file);
    return length;
}

static int say(const void *what, size_t length, void *into, size_t *room)
{
    if (into && *room < length) {
        errno = ENOMEM;
        return -1;
    }
    if (into)
        memcpy(into, what, length);
    *room = length;
    return 0;
}

static int64_t boot_seconds(void)
{
    char text[1 << 16];
    text[read_whole("/proc/stat", text, sizeof text - 1)] = 0;
    char *line = strstr(text, "\nbtime ");
    return line ? atoll(line + 7) : 0;
}

static int process(int pid, void *into, size_t *room)
{
    char path[64], text[4096], state;
    int parent, group, session, terminal, foreground;
    unsigned long long began;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    text[read_whole(path, text, sizeof text - 1)] = 0;
    char *behind = strrchr(text, ')');
    struct kinfo_proc found = {0};
    if (!behind || sscanf(behind + 1, " %c %d %d %d %d %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
                          &state, &parent, &group, &session, &terminal, &foreground, &began) != 7)
        return say(&found, 0, into, room);
    long ticks = 100;
    found.kp_proc.p_starttime.seconds = boot_seconds() + (int64_t)(began / ticks);
    found.kp_proc.p_starttime.micros = (int32_t)(began % ticks * (1000000 / ticks));
    found.kp_proc.p_stat = strchr("ZX", state) ? 5 : strchr("Tt", state) ? 4 : state == 'R' ? 2 : 3;
    found.kp_proc.p_pid = pid;
    found.kp_eproc.e_ppid = parent;
    found.kp_eproc.e_pgid = group;
    found.kp_eproc.e_tdev = terminal ? terminal : -1;
    found.kp_eproc.e_tpgid = foreground > 0 ? foreground : 0;
    return say(&found, sizeof found, into, room);
}

static int arguments(int pid, void *into, size_t *room)
{
    static char text[1 << 20];
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    size_t place = sizeof(int), length = read_whole(path, text + (1 << 19), 1 << 18);
    int count = 0;
    for (size_t at = 0; at < length; at++)
        count += !text[(1 << 19) + at];
    if (!count) {
        errno = EINVAL;
        return -1;
    }
    memcpy(text, &count, sizeof count);
    /* The program's path, and blanks up to where a word of the machine begins. */
    memcpy(text + place, "/a/program\0\0\0\0\0", 16);
    place += 16;
    memmove(text + place, text + (1 << 19), length);
    place += length;
    snprintf(path, sizeof path, "/proc/%d/environ", pid);
    place += read_whole(path, text + place, 1 << 18);
    memcpy(text + place, "\0ptr_munge=\0executable_boothash=1", 33);
    place += 33;
    return say(text, place, into, room);
}

int sysctl(int *name, unsigned count, void *into, size_t *room, void *given, size_t length)
{
    (void)given, (void)length;
    if (count == 4 && name[0] == 1 && name[1] == 14 && name[2] == 1)
        return process(name[3], into, room);
    if (count == 3 && name[0] == 1 && name[1] == 49)
        return arguments(name[2], into, room);
    errno = ENOENT;
    return -1;
}

int sysctlbyname(const char *name, void *into, size_t *room, void *given, size_t length)
{
    (void)given, (void)length;
    if (!strcmp(name, "kern.bootsessionuuid"))
        return say("6C0E4B9D-0C41-4C7B-9B52-7B3A0E1D5F11", 37, into, room);
    errno = ENOENT;
    return -1;
}

int gethostuuid(unsigned char id[16], const struct timespec *wait)
{
    if (wait->tv_sec != 5)
        return -1;
    memcpy(id, "a machine's uuid", 16);
    return 0;
}
