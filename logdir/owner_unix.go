//go:build unix

package logdir

import (
	"io/fs"
	"syscall"
)

// ownerOf asks a file's owner of what the operating system told about it.
func ownerOf(info fs.FileInfo) Owner {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return Owner{UID: st.Uid, GID: st.Gid, Known: true}
	}
	return Owner{}
}
