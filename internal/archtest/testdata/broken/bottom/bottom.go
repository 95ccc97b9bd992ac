// Package bottom writes in every way that is hard to see.
package bottom

import (
	"io"
	system "os"
	"syscall"
)

type remover interface{ Remove(name string) error }

// Not a write: a method of another type that only has the name of one.
func harmless(r remover) error { return r.Remove("a") }

func read(name string) (io.ReadCloser, error) { return system.Open(name) }

func renamedImport() { system.Rename("a", "b") }

func asValue() func(string) error { return system.RemoveAll }

func root(r *system.Root) { r.Mkdir("a", 0o700) }

type wrapped struct{ *system.Root }

func promoted(w wrapped) { w.Create("a") }

func cut(f *system.File) { f.Truncate(0) }

func below() { syscall.Unlink("a") }
