# frozen_string_literal: true

# Required by the extconf.rb of both extensions. With TIERCEL_PRECOMPILED=1 the library is for other machines: for every
# Ruby of this line, with or without a libruby, and for a glibc from 2.31 on.
if ENV["TIERCEL_PRECOMPILED"]
  $LIBRUBYARG_SHARED = ""
  $DEFLIBPATH = []
  $CFLAGS << " -include #{__dir__}/old_glibc.h"
end
