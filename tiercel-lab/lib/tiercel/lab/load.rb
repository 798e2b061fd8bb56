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
    # One load driver for all tables that let several processes use a store at once. A load is a product:
    #
    #   arrivals x keys x operation x processes -> totals and histograms
    #
    # {Fleet} starts the processes and gives them orders, {Client} holds the stores in each of them, {Driver} makes the
    # requests. A table's trial says which loads it wants and keeps what came of them.
    module Load
    end
  end
end
