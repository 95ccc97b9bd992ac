// Package rofs is the read-only file seam under everything that looks at a Kafka log directory.
//
// The inputs of a forensic tool are evidence. All access to them goes through [FS], which has no
// operation that could create, change, rename or remove anything, so no caller can do so by
// mistake. Three implementations:
//
//   - [Dir]: a directory on disk, through os.Root. A name or a symbolic link that leads out of the
//     directory is refused by the operating system calls themselves, also when a link is swapped
//     between a check and its use.
//   - [FromFS]: any fs.FS, for embedded data and tests.
//   - [Fault]: wraps another FS and lets a test fail any operation on any name at any position.
//
// Only regular files are opened. Opening a named pipe waits for a writer and opening a device may
// do anything, so both are refused with [ErrNotRegular] (and disks are opened without blocking,
// should a file turn into a pipe between the two calls).
//
// A failed operation is an error, always an *fs.PathError that names the operation and the file; it
// is never turned into "no bytes there".
//
// Names are slash-separated and relative, "." is the root. They are otherwise raw bytes: control
// characters and invalid UTF-8 pass through, escaping is the printer's job.
//
// This package never writes, never locks, never maps a file into memory, and knows nothing of Kafka.
package rofs
