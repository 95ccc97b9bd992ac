// Package allowed is a library.
package allowed
