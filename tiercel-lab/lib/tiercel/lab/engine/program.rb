# frozen_string_literal: true

module Tiercel
  module Lab
    module Engine
      # A program that the lab waits for, such as an installation. It ends with the lab: `system` would leave it running
      # after SIGTERM, which reaches the lab alone.
      module Program
        # @param words [Array] the environment, the program and its arguments, see Process.spawn
        # @return [Boolean] whether it succeeded
        def self.run(*words, **options)
          pid = Process.spawn(*words, in: File::NULL, pgroup: true, **options)
          Process.wait2(pid).last.success?.tap { pid = nil }
        rescue Errno::ENOENT, Errno::EACCES # there is no such program
          false
        ensure
          stop(pid) if pid
        end

        # Kills the program with the processes that it has started.
        def self.stop(pid)
          Process.kill(:KILL, -pid)
          Process.wait(pid)
        rescue Errno::ESRCH, Errno::ECHILD
          nil
        end
        private_class_method :stop
      end
    end
  end
end
