# frozen_string_literal: true

require "socket"
require_relative "../errors"

module Tiercel
  module Lab
    module Engine
      # Connects to every server of the user's before anything is measured: an unreachable one would cost the whole run.
      module Reachable
        SECONDS = 2.0
        # HOST:PORT after a scheme, a user, or a store's type.
        PLACE = %r{(?:(?<=//)|(?<=@)|(?<=,)|(?<=mem_cache_store:))([\w.-]+|\[[\h:]+\]):(\d{1,5})}

        module_function

        # @param contestants [Array<Contestant>]
        # @raise [UsageError] names the server
        def check(contestants)
          contestants.select(&:foreign?).map(&:text).uniq.each do |text|
            text.scan(PLACE) { |host, port| connect(text, host.delete("[]"), Integer(port, 10)) }
          end
        end

        def connect(text, host, port)
          Socket.tcp(host, port, connect_timeout: SECONDS).close
        rescue SystemCallError, SocketError, IOError => e
          raise UsageError, "#{text.sub(%r{//[^@/]*@}, "//")}: #{host}:#{port} does not answer " \
                            "(#{e.message[/\A[^-]*/].strip}); nothing was measured"
        end
      end
    end
  end
end
