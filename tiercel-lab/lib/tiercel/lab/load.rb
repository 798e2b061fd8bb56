# frozen_string_literal: true

require_relative "load/arrivals"
require_relative "load/cache_server"
require_relative "load/driver"
require_relative "load/entries"
require_relative "load/fleet"
require_relative "load/keys"
require_relative "load/trial"

module Tiercel
  module Lab
    # One load driver for all tables in which several processes use a store at the same time. A load is a product:
    #
    #   arrivals x keys x operation x processes -> totals and histograms
    #
    # {Fleet} starts the processes and sends them calls, {Client} holds the stores of a process, {Driver} makes the
    # requests. A table's trial chooses the loads and records their results.
    module Load
    end
  end
end
