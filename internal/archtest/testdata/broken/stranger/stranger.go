// Package stranger is not in the table.
package stranger

import _ "broken/top"
