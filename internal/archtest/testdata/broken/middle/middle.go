package middle

import _ "broken/bottom"
