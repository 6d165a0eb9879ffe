package sandbox

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/planmode-dev/planmode/sandbox/internal/stage"
)

// link is our end of the socket to the helper. The script goes out on it, the upper directory of
// an overlay and the reply come in, and closing it tells the helper to end everything.
type link struct {
	ours  *os.File
	sent  chan struct{}
	done  chan struct{}
	upper *os.File // nil when there is none

	reply   stage.Reply
	replied bool
}

// open makes the socket and returns the helper's end.
func (l *link) open() (*os.File, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(pair[0], true); err != nil { // ours waits in the poller
		return nil, errors.Join(err, unix.Close(pair[0]), unix.Close(pair[1]))
	}
	l.ours = os.NewFile(uintptr(pair[0]), "helper")
	return os.NewFile(uintptr(pair[1]), "stage"), nil
}

// exchange writes the script and reads what comes, both besides the caller.
func (l *link) exchange(script []byte) {
	l.sent, l.done = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(l.sent)
		_, _ = l.ours.Write(script)
	}()
	go func() {
		defer close(l.done)
		l.receive()
	}()
}

func (l *link) receive() {
	var got []byte
	for {
		data, rights := make([]byte, 64), make([]byte, unix.CmsgSpace(4))
		n, oob := 0, 0
		conn, err := l.ours.SyscallConn()
		if err != nil {
			return
		}
		var recvErr error
		err = conn.Read(func(fd uintptr) bool {
			n, oob, _, _, recvErr = unix.Recvmsg(int(fd), data, rights, unix.MSG_CMSG_CLOEXEC)
			return !errors.Is(recvErr, unix.EAGAIN)
		})
		if err != nil || recvErr != nil || n == 0 {
			break
		}
		if oob > 0 && l.upper == nil {
			l.upper = received(rights[:oob])
			data, n = data[1:], n-1 // the byte that carried it
		}
		got = append(got, data[:n]...)
	}
	l.replied = l.reply.Decode(got)
}

// received is the file that came with a message.
func received(rights []byte) *os.File {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil || len(messages) != 1 {
		return nil
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil
	}
	return os.NewFile(uintptr(fds[0]), "upper")
}

// hangUp has the helper end everything; its reply can still be read.
func (l *link) hangUp() {
	if conn, err := l.ours.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_WR) })
	}
}

// wait returns the reply after the helper has ended.
func (l *link) wait() (stage.Reply, bool) {
	<-l.done // its end of the socket is closed
	closeAll(l.ours)
	<-l.sent
	return l.reply, l.replied
}

func (l *link) close() {
	closeAll(l.ours, l.upper)
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}
