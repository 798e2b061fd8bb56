# frozen_string_literal: true

module Tiercel
  module Lab
    module Servers
      # Ends a server, and removes its folder, when its starter was killed and
      # could not do it itself.
      #
      # A small shell waits at the end of a pipe that only our process (and
      # its forks) holds open. When the last of them is gone, however it went,
      # the read ends, and the shell ends whatever the folder's pid file names.
      #
      # @private
      class Guard
        SCRIPT = 'read -r _; [ ! -f "$1/guarded.pid" ] || kill -KILL "$(cat "$1/guarded.pid")"; rm -rf "$1"'
        private_constant :SCRIPT

        # @param folder [String] the server's own
        def initialize(folder)
          @file = File.join(folder, "guarded.pid")
          reader, @writer = IO.pipe
          @pid = Process.spawn("/bin/sh", "-c", SCRIPT, "tiercel-lab-guard", folder,
                               in: reader, out: File::NULL, err: File::NULL, pgroup: true)
          reader.close
        end

        # @param pid [Integer, nil] the process to end; nil: none is running
        # @return [void]
        def watch(pid) = pid ? File.write(@file, pid.to_s) : File.delete(@file)

        # Sends the guard home: the starter has done its work.
        #
        # @return [void]
        def release
          Process.kill(:KILL, @pid)
          Process.wait(@pid)
          @writer.close
        end
      end
    end
  end
end
