# frozen_string_literal: true

require "etc"
require "open3"
require_relative "server"

module Tiercel
  module Lab
    module Servers
      # A PostgreSQL server with a new, empty cluster. Its user has no password.
      #
      # Unlike other servers it keeps its data after {#kill}, {#restart} and {#start}; {#stop} removes the data.
      class PostgreSQL < Server
        # PostgreSQL refuses to run as root. The lab then uses this user of Debian's package.
        ROOT_RUNS_AS = "postgres"

        def self.program = "postgres"

        def self.package = "postgresql"

        # Debian installs the programs outside of the PATH, in a folder for each version.
        def self.executable
          path = super || Dir["/usr/lib/postgresql/*/bin/postgres"].max_by { |found| found[%r{/(\d+)/bin}, 1].to_i }
          path && File.realpath(path)
        end

        # @param settings [Hash{String, Symbol => Object}] settings for postgresql.conf, such as shared_buffers: "256MB"
        # @param options see {Server#initialize}; no tls
        def initialize(settings: {}, **options)
          raise ArgumentError, "tls: not for PostgreSQL here" if options[:tls]
          super(**options)
          raise ArgumentError, "socket #{socket}: PostgreSQL names its socket itself; pass true" if socket
          @settings = settings
        end

        # @return [String] in Active Record's form
        def url
          place = socket ? "@/postgres?host=#{File.dirname(socket)}&port=#{port_number}" : "@#{HOST}:#{port}/postgres"
          "postgresql://#{user}#{place}"
        end

        # @return [String] name of the database's superuser
        def user = ROOT_RUNS_AS

        # A new server prints this while processes of a killed one still run.
        STILL_THERE = /pre-existing shared memory block/
        private_constant :STILL_THERE

        private

        def launch
          deadline = now + START_SECONDS
          begin
            super
          rescue Error
            raise unless log.match?(STILL_THERE) && now < deadline
            sleep 0.05
            retry
          end
        end

        def prepare
          super
          create_cluster unless File.exist?(File.join(data, "PG_VERSION"))
        end

        def data = File.join(folder, "data")

        # With a socket, PostgreSQL uses the number in the socket's name only.
        def port_number = port || 5432

        def choose_socket
          @socket = File.join(folder, ".s.PGSQL.#{port_number}")
          super
        end

        def create_cluster
          FileUtils.chown(ROOT_RUNS_AS, nil, folder) if Process.euid.zero?
          command = [program("initdb"), "--pgdata", data, "--username", user, "--auth", "trust", "--encoding", "UTF8",
                     "--no-sync"]
          output, status = Open3.capture2e(*as_user, *command, chdir: "/")
          raise Error, "initdb failed:\n#{output}" unless status.success?
        end

        def program(name) = File.join(File.dirname(self.class.executable), name)

        def as_user
          return [] unless Process.euid.zero?
          account = Etc.getpwnam(ROOT_RUNS_AS)
          ["setpriv", "--reuid", account.uid.to_s, "--regid", account.gid.to_s, "--clear-groups"]
        end

        def pinned = [*super, *as_user]

        def arguments
          settings = { listen_addresses: socket ? "" : HOST, unix_socket_directories: folder, **@settings }
          ["-D", data, "-p", port_number.to_s, *settings.flat_map { |name, value| ["-c", "#{name}=#{value}"] }]
        end

        def ask_version
          place = socket ? File.dirname(socket) : HOST
          _, status = Open3.capture2e(program("pg_isready"), "-q", "-h", place, "-p", port_number.to_s)
          File.read(File.join(data, "PG_VERSION")).chomp if status.success?
        end

        # INT ends the sessions, writes a checkpoint, and stops. TERM would wait for the sessions.
        def stop_signals = %i[INT KILL]
      end
    end
  end
end
