# frozen_string_literal: true

require "fileutils"
require "socket"
require "tmpdir"

require_relative "certificate"
require_relative "conversation"
require_relative "errors"
require_relative "guard"
require_relative "running"

module Tiercel
  module Lab
    module Servers
      # One server process. It starts on a free loopback port or a Unix socket, is ready when it answers a request (no
      # fixed waiting time), and is stopped by PID.
      #
      # @abstract Subclasses implement {.program}, {.package}, #command, #ask_version and #url.
      class Server
        include Conversation

        HOST = "127.0.0.1"
        # Attempts to start if another process takes the free port in the meantime.
        ATTEMPTS = 5
        START_SECONDS = 15
        STOP_SECONDS = 5
        PAUSE_SECONDS = 1
        # Longest path of a Unix socket on Linux and macOS, including the final zero byte.
        SOCKET_PATH_BYTES = 104

        class << self
          # @return [String] name of the executable
          def program = raise(NotImplementedError)

          # @return [String] its package in Debian
          def package = program

          # @return [String, nil] path of the executable
          def executable
            folders = ENV.fetch("PATH", "").split(File::PATH_SEPARATOR) + %w[/usr/sbin /usr/local/bin /usr/local/sbin]
            folders.map { |folder| File.join(folder, program) }
                   .find { |path| File.executable?(path) && File.file?(path) }
          end

          # @return [Boolean] whether the program is installed
          def installed? = !executable.nil?

          # Starts a server, and stops it after the block.
          #
          # @param options see the class's #initialize
          # @yieldparam server [Server]
          # @return [Object] the block's value
          def run(**options)
            server = new(**options).start
            yield server
          ensure
            server&.stop
          end
        end

        # @return [Integer, nil] nil if it is not running
        attr_reader :pid
        # @return [Integer, nil] nil before the first start, and with a Unix socket
        attr_reader :port
        # @return [String, nil] path of the Unix socket, nil with TCP
        attr_reader :socket
        # @return [String] the version that the server reports
        attr_reader :version
        # @return [Certificate, nil] for clients; nil without TLS, or before the first start
        attr_reader :certificate

        # @param socket [Boolean, String] true: a Unix socket in a new folder; a String: the socket's path
        # @param port [Integer, nil] TCP port; nil takes a free one
        # @param tls [Boolean] whether the server uses TLS, with the {#certificate}
        # @param cpu [Integer, nil] the only CPU for the server (Linux)
        # @param args [Array<String>] more arguments for the program, after the lab's
        def initialize(socket: false, port: nil, tls: false, cpu: nil, args: [])
          @socket = socket == true ? nil : (socket || nil)
          @over_socket = socket ? true : false
          @fixed_port = port
          @tls = tls
          @cpu = cpu
          @args = args
        end

        # Starts the server and waits until it answers. A second start uses the same address.
        #
        # @return [self]
        # @raise [NotInstalled]
        # @raise [Error] if the server ends or does not answer; the message ends with the server's log
        def start
          raise Error, "#{self} is running already (pid #{pid})" if pid
          prepare
          launch
          self
        end

        # Stops the server, by force if necessary. Does nothing if it is not running.
        def stop
          return self unless @owner == Process.pid
          end_process(*stop_signals) if pid
          remove_folder if folder
          self
        end

        # Kills the server as in a crash: it cannot notify its clients.
        def kill
          end_process(:KILL) if owned?
          self
        end

        # Stops the server and starts it at the same address without data.
        def restart
          end_process(*stop_signals) if owned?
          start
        end

        # Stops the server's threads (SIGSTOP): the kernel still accepts connections, but nothing answers. Returns when
        # all threads have stopped, because they may answer for a moment after the signal.
        #
        # @return [self]
        def pause
          signal(:STOP)
          wait_until_stopped
          self
        end

        # Continues after a {#pause}.
        #
        # @return [self]
        def resume
          signal(:CONT)
          self
        end

        # @return [Boolean] whether the process exists, paused or not
        def running?
          return false unless pid
          return Process.kill(0, pid) == 1 unless owned?
          gone? && forget
          !pid.nil?
        rescue Errno::ESRCH
          false
        end

        # @return [String, nil] the loopback address, nil with a Unix socket
        def host = @over_socket ? nil : HOST

        # @return [String] the address, in the store's form
        def url = raise(NotImplementedError)

        # @return [String] the server's output
        def log = @folder && File.exist?(log_path) ? File.read(log_path) : ""

        # @return [String] program and address
        def to_s = "#{self.class.program} at #{@over_socket ? socket : "#{HOST}:#{port}"}"

        # @return [String]
        def inspect = "#<#{self.class.name} #{self} #{pid ? "pid #{pid}" : "not running"}>"

        private

        attr_reader :folder

        # @return [Array<String>] the command's arguments
        def arguments = raise(NotImplementedError)

        # @return [String, nil] the version if the server is ready to serve, else nil
        def ask_version = raise(NotImplementedError)

        # The signals that {#stop} sends one after the other until the process ends.
        def stop_signals = %i[TERM KILL]

        def prepare
          unless self.class.installed?
            raise NotInstalled, "#{self.class.program} is not installed: apt-get install #{self.class.package} " \
                                "(bin/setup as root does it)"
          end
          create_folder unless folder
          choose_socket if @over_socket
          @certificate = Certificate.new(@folder) if @tls
        end

        # A restarted server has the same folder, and therefore the same socket.
        def create_folder
          @owner = Process.pid
          @kept_folder ? Dir.mkdir(@kept_folder, 0o700) : @kept_folder = Dir.mktmpdir("tiercel-lab-")
          @folder = @kept_folder
          @guard = Guard.new(folder)
          Running.add(self)
        end

        def remove_folder
          @guard.release
          FileUtils.rm_rf(folder)
          @folder = nil
          Running.remove(self)
        end

        def choose_socket
          @socket ||= File.join(@folder, "server.sock")
          return if socket.bytesize < SOCKET_PATH_BYTES
          raise Error, "socket path #{socket.inspect}: #{socket.bytesize} bytes, at most #{SOCKET_PATH_BYTES - 1} " \
                       "work; set TMPDIR to a shorter folder"
        end

        def launch
          attempt = 0
          begin
            attempt += 1
            @port = @fixed_port || @kept_port || free_port unless @over_socket
            spawn_process
            wait_until_ready
          rescue Error
            end_process(:KILL) if owned?
            retry if attempt < ATTEMPTS && !@over_socket && !@fixed_port && !@kept_port && log.match?(/in use/i)
            raise
          end
          @kept_port = @port
        end

        # Another process may take this free port before the server does; {#launch} then tries again.
        def free_port = TCPServer.open(HOST, 0) { |server| server.addr[1] }

        def spawn_process
          # Has its own process group: Ctrl-C at the terminal reaches our process alone, which then stops the server.
          # Inherits no sockets: those of hiredis, which stay open in children, can exceed the server's limit of files.
          @pid = Process.spawn(*pinned, self.class.executable, *arguments, *@args,
                               in: File::NULL, out: log_path, err: %i[child out], chdir: @folder, pgroup: true,
                               close_others: true)
          @guard.watch(pid)
        end

        def pinned = @cpu ? ["taskset", "--cpu-list", @cpu.to_s] : []

        def wait_until_ready
          deadline = now + self.class::START_SECONDS
          until (@version = ask_version)
            raise Error, "#{self} ended at its start. Its log:\n#{log}" unless running?
            if now > deadline
              raise Error, "#{self} did not answer within #{self.class::START_SECONDS} s. Its log:\n#{log}"
            end
            sleep 0.005
          end
        end

        # A forked child does not stop servers of its parent.
        def owned? = !pid.nil? && @owner == Process.pid

        def signal(name)
          raise Error, "#{self} is not running" unless owned?
          Process.kill(name, pid)
        end

        # The kernel does not report a second pause to the parent, hence the time limit.
        def wait_until_stopped
          deadline = now + PAUSE_SECONDS
          until Process.waitpid(pid, Process::WNOHANG | Process::WUNTRACED)
            return if now > deadline
            sleep 0.001
          end
        end

        def end_process(*signals)
          signals.each do |name|
            Process.kill(name, pid)
            Process.kill(:CONT, pid) # a paused process acts on nothing but KILL
            return forget if gone_within?(STOP_SECONDS)
          end
          raise Error, "#{self} (pid #{pid}) could not be ended"
        rescue Errno::ESRCH, Errno::ECHILD
          forget
        end

        def gone_within?(seconds)
          deadline = now + seconds
          until gone?
            return false if now > deadline
            sleep 0.002
          end
          true
        end

        # Reaps the process if it has ended.
        def gone? = !Process.waitpid(pid, Process::WNOHANG).nil?

        def forget
          @guard.watch(nil)
          @pid = nil
          FileUtils.rm_f(socket) if socket
        end

        def log_path = File.join(@folder, "server.log")

        def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end
    end
  end
end
