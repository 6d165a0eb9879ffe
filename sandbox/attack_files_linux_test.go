package sandbox

import (
	"os"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func (m *mark) file() string { return filepath.Join(m.Workspace, "README.md") }

func addr[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

func cstring(s string) uintptr {
	p, err := unix.BytePtrFromString(s)
	if err != nil {
		panic(err)
	}
	return addr(p)
}

// opened opens a path and closes it again.
func opened(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o644)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err
}

// reading runs f on the workspace's file, opened for reading.
func reading(m *mark, f func(fd int) error) error {
	fd, err := unix.Open(m.file(), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil // being unable to read would hide the attempt
	}
	defer unix.Close(fd)
	return f(fd)
}

// private makes a file in the TMPDIR.
func private(name string) string {
	path := filepath.Join(os.Getenv("TMPDIR"), name)
	_ = os.WriteFile(path, []byte("own"), 0o600)
	return path
}

var fileAssaults = []assault{
	{"file", "open O_WRONLY", false, func(m *mark) error { return opened(m.file(), unix.O_WRONLY) }},
	{"file", "open O_RDWR", false, func(m *mark) error { return opened(m.file(), unix.O_RDWR) }},
	{"file", "open O_WRONLY|O_APPEND", false, func(m *mark) error { return opened(m.file(), unix.O_WRONLY|unix.O_APPEND) }},
	{"file", "open O_WRONLY|O_TRUNC", false, func(m *mark) error { return opened(m.file(), unix.O_WRONLY|unix.O_TRUNC) }},
	{"file", "open O_RDONLY|O_TRUNC", false, func(m *mark) error { return opened(m.file(), unix.O_RDONLY|unix.O_TRUNC) }},
	{"file", "open with access mode 3 and O_TRUNC", false, func(m *mark) error { return opened(m.file(), 3|unix.O_TRUNC) }},
	{"file", "open O_CREAT", false, func(m *mark) error { return opened(filepath.Join(m.Workspace, "new"), unix.O_CREAT|unix.O_WRONLY) }},
	{"file", "open O_TMPFILE", false, func(m *mark) error { return opened(m.Workspace, unix.O_TMPFILE|unix.O_RDWR) }},
	{"file", "openat2 for writing", false, func(m *mark) error {
		fd, err := unix.Openat2(unix.AT_FDCWD, m.file(), &unix.OpenHow{Flags: unix.O_WRONLY})
		_ = unix.Close(fd)
		return err
	}},
	{"file", "truncate", false, func(m *mark) error { return unix.Truncate(m.file(), 0) }},
	{"file", "ftruncate of a reading descriptor", false, func(m *mark) error {
		return reading(m, func(fd int) error { return unix.Ftruncate(fd, 0) })
	}},
	{"file", "fallocate of a reading descriptor", false, func(m *mark) error {
		return reading(m, func(fd int) error { return unix.Fallocate(fd, 0, 0, 4096) })
	}},
	{"file", "write to a reading descriptor", false, func(m *mark) error {
		return reading(m, func(fd int) error { _, err := unix.Write(fd, []byte("x")); return err })
	}},
	{"file", "shared writable mapping", false, func(m *mark) error {
		return reading(m, func(fd int) error {
			_, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			return err
		})
	}},
	{"file", "mprotect of a shared mapping", false, func(m *mark) error {
		return reading(m, func(fd int) error {
			mem, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ, unix.MAP_SHARED)
			if err != nil {
				return nil
			}
			return unix.Mprotect(mem, unix.PROT_READ|unix.PROT_WRITE)
		})
	}},
	{"file", "reopen through /proc/self/fd", false, func(m *mark) error {
		return reading(m, func(fd int) error { return opened("/proc/self/fd/"+itoa(fd), unix.O_WRONLY) })
	}},
	{"file", "reopen an O_PATH descriptor", false, func(m *mark) error {
		fd, err := unix.Open(m.file(), unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil
		}
		defer unix.Close(fd)
		return opened("/proc/self/fd/"+itoa(fd), unix.O_RDWR)
	}},
	{"file", "through /proc/self/root", false, func(m *mark) error { return opened("/proc/self/root"+m.file(), unix.O_WRONLY) }},
	{"file", "through /proc/1/root", false, func(m *mark) error { return opened("/proc/1/root"+m.file(), unix.O_WRONLY) }},
	{"file", "through a symbolic link in TMPDIR", false, func(m *mark) error {
		link := filepath.Join(os.Getenv("TMPDIR"), "to-file")
		_ = os.Symlink(m.file(), link)
		return opened(link, unix.O_WRONLY)
	}},
	{"file", "hard link into TMPDIR", false, func(m *mark) error {
		return unix.Link(m.file(), filepath.Join(os.Getenv("TMPDIR"), "hard"))
	}},
	{"file", "hard link of an O_PATH descriptor", false, func(m *mark) error {
		fd, err := unix.Open(m.file(), unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil
		}
		defer unix.Close(fd)
		return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+itoa(fd), unix.AT_FDCWD, filepath.Join(os.Getenv("TMPDIR"), "hard2"), unix.AT_SYMLINK_FOLLOW)
	}},
	{"file", "hard link into the workspace", false, func(m *mark) error { return unix.Link(private("own"), filepath.Join(m.Workspace, "own")) }},
	{"file", "rename", false, func(m *mark) error { return unix.Rename(m.file(), filepath.Join(m.Workspace, "moved")) }},
	{"file", "rename over", false, func(m *mark) error { return unix.Rename(private("over"), m.file()) }},
	{"file", "rename out of the workspace", false, func(m *mark) error { return unix.Rename(m.file(), filepath.Join(os.Getenv("TMPDIR"), "out")) }},
	{"file", "renameat2 RENAME_EXCHANGE", false, func(m *mark) error {
		return unix.Renameat2(unix.AT_FDCWD, private("swap"), unix.AT_FDCWD, m.file(), unix.RENAME_EXCHANGE)
	}},
	{"file", "unlink", false, func(m *mark) error { return unix.Unlink(filepath.Join(m.Workspace, "notes.txt")) }},
	{"file", "mkdir", false, func(m *mark) error { return unix.Mkdir(filepath.Join(m.Workspace, "made"), 0o755) }},
	{"file", "rmdir", false, func(m *mark) error {
		_ = unix.Unlink(filepath.Join(m.Canary, "dir/below"))
		return unix.Rmdir(filepath.Join(m.Canary, "dir"))
	}},
	{"file", "symlink", false, func(m *mark) error { return unix.Symlink("x", filepath.Join(m.Workspace, "sym")) }},
	{"file", "mkfifo", false, func(m *mark) error { return unix.Mkfifo(filepath.Join(m.Workspace, "pipe"), 0o644) }},
	{"file", "mknod of a device in the workspace", false, func(m *mark) error {
		return unix.Mknod(filepath.Join(m.Workspace, "dev"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3)))
	}},
	{"file", "copy_file_range", false, func(m *mark) error {
		return reading(m, func(fd int) error {
			src, err := os.Open(private("src"))
			if err != nil {
				return nil
			}
			defer src.Close()
			_, err = unix.CopyFileRange(int(src.Fd()), nil, fd, nil, 3, 0)
			return err
		})
	}},
	{"file", "the index of the repository", false, func(m *mark) error { return opened(filepath.Join(m.Workspace, ".git/index"), unix.O_WRONLY) }},
	{"file", "a hook of the repository", false, func(m *mark) error {
		return opened(filepath.Join(m.Workspace, ".git/hooks/post-checkout"), unix.O_CREAT|unix.O_WRONLY)
	}},
	{"outside", "~/.bashrc", false, func(m *mark) error { return notScratch(m, filepath.Join(m.Home, ".bashrc")) }},
	{"outside", "a file elsewhere", false, func(m *mark) error { return opened(filepath.Join(m.Canary, "bird.txt"), unix.O_WRONLY) }},
	{"outside", "create a file elsewhere", false, func(m *mark) error { return opened(filepath.Join(m.Canary, "new"), unix.O_CREAT|unix.O_WRONLY) }},
	{"outside", "/etc/passwd", false, func(*mark) error { return opened("/etc/passwd", unix.O_WRONLY) }},
	{"outside", "create in /tmp", false, func(*mark) error { return opened("/tmp/sandbox-attack", unix.O_CREAT|unix.O_WRONLY) }},
	{"outside", "a FIFO", false, func(m *mark) error { return opened(m.FIFO, unix.O_WRONLY|unix.O_NONBLOCK) }},
	{"hidden", "~/.ssh/id_ed25519", false, func(m *mark) error { return opened(filepath.Join(m.Home, ".ssh/id_ed25519"), unix.O_RDONLY) }},
	{"hidden", "list ~/.ssh", false, func(m *mark) error { _, err := os.ReadDir(filepath.Join(m.Home, ".ssh")); return err }},
	{"hidden", "~/.netrc", false, func(m *mark) error { return opened(filepath.Join(m.Home, ".netrc"), unix.O_RDONLY) }},
	{"hidden", "~/.config/gh/hosts.yml", false, func(m *mark) error { return opened(filepath.Join(m.Home, ".config/gh/hosts.yml"), unix.O_RDONLY) }},
	{"hidden", "a key file", false, func(m *mark) error { return opened(filepath.Join(m.Home, "server.pem"), unix.O_RDONLY) }},
	{"hidden", "the state folder", false, func(m *mark) error {
		return opened(filepath.Join(m.Home, ".local/state/planmode/sessions/1.jsonl"), unix.O_RDONLY)
	}},
	{"hidden", "chmod, then read", false, func(m *mark) error {
		_ = unix.Chmod(filepath.Join(m.Home, ".netrc"), 0o777)
		body, err := os.ReadFile(filepath.Join(m.Home, ".netrc"))
		if err == nil && len(body) == 0 {
			return errNothing // the cover, not what it covers
		}
		return err
	}},
	{"hidden", "through /proc/1/root", false, func(m *mark) error { return opened("/proc/1/root"+filepath.Join(m.Home, ".netrc"), unix.O_RDONLY) }},
	{"hidden", "by file handle", false, func(m *mark) error {
		handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, m.Canary, 0)
		if err != nil {
			return err
		}
		fd, err := unix.Open(m.Canary, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		got, err := unix.OpenByHandleAt(fd, handle, unix.O_RDONLY)
		_ = unix.Close(got)
		return err
	}},
}

// notScratch opens a file of the home directory, over which the throw-away view lays a layer; in
// it the attempt is contained, which the hash of the world shows.
func notScratch(m *mark, path string) error {
	if opened(filepath.Join(m.Workspace, "probe"), unix.O_CREAT|unix.O_WRONLY) == nil {
		return errNothing
	}
	return opened(path, unix.O_WRONLY)
}

func itoa(n int) string {
	if n >= 10 {
		return itoa(n/10) + string(rune('0'+n%10))
	}
	return string(rune('0' + n))
}

func own() (int, int) { return os.Getuid(), os.Getgid() }

var metadataAssaults = []assault{
	{"metadata", "chmod", false, func(m *mark) error { return unix.Chmod(m.file(), 0o777) }},
	{"metadata", "fchmod", false, func(m *mark) error {
		return reading(m, func(fd int) error { return unix.Fchmod(fd, 0o777) })
	}},
	{"metadata", "fchmodat2", false, func(m *mark) error {
		return sys(unix.SYS_FCHMODAT2, unix.AT_FDCWD&(1<<64-1), cstring(m.file()), 0o777, unix.AT_SYMLINK_NOFOLLOW)
	}},
	{"metadata", "lchown to oneself", false, func(m *mark) error {
		uid, gid := own()
		return unix.Lchown(m.file(), uid, gid)
	}},
	{"metadata", "fchown to oneself", false, func(m *mark) error {
		uid, gid := own()
		return reading(m, func(fd int) error { return unix.Fchown(fd, uid, gid) })
	}},
	{"metadata", "utimensat", false, func(m *mark) error {
		return unix.UtimesNanoAt(unix.AT_FDCWD, m.file(), make([]unix.Timespec, 2), 0)
	}},
	{"metadata", "utimensat, now", false, func(m *mark) error {
		return sys(unix.SYS_UTIMENSAT, unix.AT_FDCWD&(1<<64-1), cstring(m.file()), 0, 0)
	}},
	{"metadata", "futimens", false, func(m *mark) error {
		return reading(m, func(fd int) error { return sys(unix.SYS_UTIMENSAT, uintptr(fd), 0, 0, 0) })
	}},
	{"metadata", "setxattr", false, func(m *mark) error { return unix.Setxattr(m.file(), "user.x", []byte("1"), 0) }},
	{"metadata", "lsetxattr", false, func(m *mark) error { return unix.Lsetxattr(m.file(), "user.x", []byte("1"), 0) }},
	{"metadata", "fsetxattr", false, func(m *mark) error {
		return reading(m, func(fd int) error { return unix.Fsetxattr(fd, "user.x", []byte("1"), 0) })
	}},
	{"metadata", "setxattrat", false, func(m *mark) error {
		value := byte('1')
		args := struct {
			value       uint64
			size, flags uint32
		}{uint64(addr(&value)), 1, 0}
		return sys(unix.SYS_SETXATTRAT, unix.AT_FDCWD&(1<<64-1), cstring(m.file()), 0, cstring("user.x"), addr(&args), 16)
	}},
	{"metadata", "removexattr", false, func(m *mark) error { return unix.Removexattr(filepath.Join(m.Canary, "old.txt"), "user.kept") }},
	{"metadata", "removexattrat", false, func(m *mark) error {
		return sys(unix.SYS_REMOVEXATTRAT, unix.AT_FDCWD&(1<<64-1), cstring(filepath.Join(m.Canary, "old.txt")), 0, cstring("user.kept"))
	}},
	{"metadata", "access control list", false, func(m *mark) error {
		acl := []byte{2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255, 4, 0, 7, 0, 255, 255, 255, 255, 32, 0, 7, 0, 255, 255, 255, 255}
		return unix.Setxattr(m.file(), "system.posix_acl_access", acl, 0)
	}},
	{"metadata", "chattr", false, func(m *mark) error {
		return reading(m, func(fd int) error { return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, 0x40) })
	}},
	{"metadata", "extended chattr", false, func(m *mark) error {
		return reading(m, func(fd int) error {
			var attr [28]byte
			attr[0] = 0x40
			return sys(unix.SYS_IOCTL, uintptr(fd), 0x401c5820, addr(&attr))
		})
	}},
	{"metadata", "file_setattr", false, func(m *mark) error {
		attr := [3]uint64{0x40}
		return sys(unix.SYS_FILE_SETATTR, unix.AT_FDCWD&(1<<64-1), cstring(m.file()), addr(&attr), 24, 0)
	}},
	{"metadata", "lease", false, func(m *mark) error {
		return reading(m, func(fd int) error { _, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK); return err })
	}},
}

var mountAssaults = []assault{
	{"mount", "mount tmpfs", false, func(m *mark) error { return unix.Mount("tmpfs", m.Workspace, "tmpfs", 0, "") }},
	{"mount", "mount proc", false, func(m *mark) error { return unix.Mount("proc", m.Workspace, "proc", 0, "") }},
	{"mount", "bind", false, func(m *mark) error { return unix.Mount(os.Getenv("TMPDIR"), m.Workspace, "", unix.MS_BIND, "") }},
	{"mount", "remount / writable", false, func(*mark) error { return unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, "") }},
	{"mount", "unmount", false, func(m *mark) error { return unix.Unmount(filepath.Join(m.Home, ".ssh"), unix.MNT_DETACH) }},
	{"mount", "pivot_root", false, func(*mark) error { return unix.PivotRoot(os.Getenv("TMPDIR"), os.Getenv("TMPDIR")) }},
	{"mount", "chroot", false, func(*mark) error { return unix.Chroot(os.Getenv("TMPDIR")) }},
	{"mount", "fsopen", false, func(*mark) error { _, err := unix.Fsopen("tmpfs", 0); return err }},
	{"mount", "fspick", false, func(*mark) error { return sys(unix.SYS_FSPICK, unix.AT_FDCWD&(1<<64-1), cstring("/"), 0) }},
	{"mount", "open_tree", false, func(*mark) error { _, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE); return err }},
	{"mount", "move_mount", false, func(m *mark) error { return unix.MoveMount(unix.AT_FDCWD, "/proc", unix.AT_FDCWD, m.Workspace, 0) }},
	{"mount", "mount_setattr", false, func(*mark) error {
		return unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
	}},
	{"mount", "unshare, mount namespace", false, func(*mark) error { return unix.Unshare(unix.CLONE_NEWNS) }},
	{"mount", "unshare, user namespace", false, func(*mark) error {
		if err := unix.Unshare(unix.CLONE_NEWUSER); err != unix.EINVAL { // a bare errno
			return err
		}
		return nil // several threads would be the reason, not the filter
	}},
	{"mount", "setns", false, func(m *mark) error {
		fd, err := unix.Open("/proc/self/ns/mnt", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Setns(fd, 0)
	}},
	{"mount", "clone, user namespace", false, func(*mark) error {
		attr := &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS}}
		_, err := syscall.ForkExec("/bin/true", []string{"true"}, attr)
		return err
	}},
	{"mount", "clone with garbage above the flags", false, func(*mark) error {
		// It never starts, because the flags contradict one another: EINVAL would mean that the filter passed it.
		if err := sys(unix.SYS_CLONE, 1<<40|unix.CLONE_NEWUSER|unix.CLONE_NEWNS|unix.CLONE_THREAD); err != unix.EINVAL { //nolint:errorlint // a bare errno
			return err
		}
		return nil
	}},
	{"mount", "clone3", false, func(*mark) error { return sys(unix.SYS_CLONE3, 0, 0) }},
}
