// Package finding is the vocabulary of judgement: what a finding is, how severe,
// about what, and where it lies.
//
// It is a leaf: it imports nothing of kafsck, and only packages that judge
// import it. It never formats for people and never decides anything.
package finding
