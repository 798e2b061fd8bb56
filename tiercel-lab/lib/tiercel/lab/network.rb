# frozen_string_literal: true

require_relative "network/conditions"
require_relative "network/proxy"
require_relative "network/round_trip"

module Tiercel
  module Lab
    # Simulates distance and faults between a client and a server on this machine.
    #
    #   Network::Proxy.run(server, delay: 0.001) do |proxy|
    #     store = Tiercel.new(proxy.url)
    #   proxy.change(hold: true)     # the server hangs: the proxy keeps replies back
    #   proxy.restore                # the proxy sends them
    #   proxy.cut                    # closes every connection, accepts new ones
    #   proxy.sever                  # closes new connections too
    #     proxy.restore
    #   proxy.change(hold: :both, only: "subscribe") # blocks the connection that subscribes, in both directions
    #   end
    module Network
    end
  end
end
