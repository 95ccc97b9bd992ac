// Package other is a library.
package other
