# frozen_string_literal: true

module Tiercel
  module Lab
    module Servers
      # The servers that this process has started. They stop when the process exits.
      #
      # @private
      module Running
        @servers = []
        @lock = Mutex.new

        class << self
          # @param server [Server]
          # @return [void]
          def add(server)
            @lock.synchronize do
              at_exit { stop_all } unless @stops_at_exit
              @stops_at_exit = true
              @servers |= [server]
            end
          end

          # @param server [Server]
          # @return [void]
          def remove(server)
            @lock.synchronize { @servers -= [server] }
          end

          # @return [void]
          def stop_all
            @servers.each do |server|
              server.stop
            rescue Error => e
              warn e.message
            end
          end
        end
      end
    end
  end
end
