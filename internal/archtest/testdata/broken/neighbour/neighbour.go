// Package neighbour is of the same layer as top.
package neighbour

import _ "broken/bottom"
