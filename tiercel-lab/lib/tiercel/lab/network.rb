# frozen_string_literal: true

require_relative "network/conditions"
require_relative "network/proxy"
require_relative "network/round_trip"

module Tiercel
  module Lab
    # Distance and faults between a client and a server, made on this machine.
    #
    #   Network::Proxy.run(server, delay: 0.001) do |proxy|
    #     store = Tiercel.new(proxy.url)
    #     proxy.change(hold: true)     # the server hangs: replies are kept back
    #     proxy.restore                # and sent now
    #     proxy.cut                    # every connection is closed, new ones are accepted
    #     proxy.sever                  # and new ones are closed too
    #     proxy.restore
    #     proxy.change(hold: :both, only: "subscribe") # nothing passes on the connection that subscribes
    #   end
    module Network
    end
  end
end
