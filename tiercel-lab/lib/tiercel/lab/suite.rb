# frozen_string_literal: true

require_relative "suite/child"
require_relative "suite/entry"
require_relative "suite/overall"
require_relative "suite/part"
require_relative "suite/timetable"

module Tiercel
  module Lab
    # All tables, one after the other.
    module Suite
    end
  end
end
