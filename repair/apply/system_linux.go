package apply

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Clone asks for a reflink (ioctl_ficlone(2)): btrfs, XFS and bcachefs share the blocks, others
// refuse.
func (disk) Clone(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	err = unix.IoctlFileClone(int(dst.Fd()), int(src.Fd()))
	if closeErr := dst.Close(); err == nil {
		return closeErr
	}
	if removeErr := os.Remove(to); removeErr != nil {
		return removeErr
	}
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EIO) {
		return err
	}
	return errNoClone
}

// SyncAll is syncfs(2): one journal commit instead of one a file.
func (disk) SyncAll(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	return nil
}

// startWriting is sync_file_range(2) without waiting. It makes nothing durable, and its failure
// means nothing: SyncFile does, later.
func startWriting(f *os.File) {
	unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE)
}
