// Package archtest holds the architecture of this module as data and a test
// that fails when the code leaves it.
//
// The table (table_test.go) names every package with the packages it may
// import, the libraries and where they may be used, and the few packages that
// may change the file system. The test then reads the tree:
//
//   - an import edge between two packages of this module must be in the table,
//     and the table itself must point down through the layers;
//   - every package directory must be in the table, and have a doc comment;
//   - no file outside the writers names os.Create, os.Rename, the same on
//     *os.Root, or any other function that changes the file system;
//   - no product file imports "testing" or a package that has no business in
//     this program (os/exec, unsafe, …).
//
// Test files are exempt: they may import and write what they like.
//
// This package never ships: it holds only this comment and tests.
package archtest
