// The records of the service (specification 2). A member that is not std::optional is always set.
// The name of a field is its JSON key, column, Arrow field and Python attribute. A record that can
// be loaded and listed names its table; the table's name is also the name of the resource. Error
// messages call a record `singular`.
#pragma once

#include "model/records/identities.hpp"
#include "model/records/orchestrations.hpp"
#include "model/records/rewards.hpp"
