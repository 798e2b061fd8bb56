# frozen_string_literal: true

# The extconf.rb of both extensions requires this file. With TIERCEL_PRECOMPILED=1 it builds a library for other
# machines: for every patch release of this Ruby, with or without a libruby, and for glibc 2.31 or later.
if ENV["TIERCEL_PRECOMPILED"]
  $LIBRUBYARG_SHARED = ""
  $DEFLIBPATH = []
  $CFLAGS << " -include #{__dir__}/old_glibc.h"
end
