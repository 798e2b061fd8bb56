# frozen_string_literal: true

module Tiercel
  module Lab
    module Servers
      # Stops a server and removes its folder if the process that started it was killed.
      #
      # A small shell reads from a pipe that only our process and its forks hold open. When the last of them ends, for
      # any reason, the read ends, and the shell stops the process whose PID is in the folder's file.
      #
      # @private
      class Guard
        SCRIPT = 'read -r _; [ ! -f "$1/guarded.pid" ] || kill -KILL "$(cat "$1/guarded.pid")"; rm -rf "$1"'
        private_constant :SCRIPT

        # @param folder [String] the server's folder
        def initialize(folder)
          @file = File.join(folder, "guarded.pid")
          reader, @writer = IO.pipe
          @pid = Process.spawn("/bin/sh", "-c", SCRIPT, "tiercel-lab-guard", folder,
                               in: reader, out: File::NULL, err: File::NULL, pgroup: true)
          reader.close
        end

        # @param pid [Integer, nil] the process to stop; nil: none is running
        # @return [void]
        def watch(pid) = pid ? File.write(@file, pid.to_s) : File.delete(@file)

        # Ends the guard, after a normal stop.
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
