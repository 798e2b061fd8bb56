# frozen_string_literal: true

module Tiercel
  module Lab
    module Servers
      # Ends a server whose starter was killed and could not do it itself.
      #
      # A small shell waits at the end of a pipe that only our process (and
      # its forks) holds open. When the last of them is gone, however it went,
      # the read ends and the shell ends the server and removes its folder.
      #
      # @private
      class Guard
        SCRIPT = 'read -r _; kill -KILL "$1" 2>/dev/null; rm -rf "$2"'
        private_constant :SCRIPT

        # @param pid [Integer] the server to end
        # @param folder [String] the server's own
        def initialize(pid, folder)
          reader, @writer = IO.pipe
          @owner = Process.pid
          @pid = Process.spawn("/bin/sh", "-c", SCRIPT, "tiercel-lab-guard", pid.to_s, folder,
                               in: reader, out: File::NULL, err: File::NULL, pgroup: true)
          reader.close
        end

        # Sends the guard home: the server was ended, or will be, by its starter.
        #
        # @return [void]
        def release
          return unless @pid && @owner == Process.pid
          Process.kill(:KILL, @pid)
          Process.wait(@pid)
          @writer.close
          @pid = nil
        end
      end
    end
  end
end
