# frozen_string_literal: true

module Tiercel
  module Backends
    class SQLite < Backend
      # Sets a damaged or foreign file aside, once, however many processes find
      # it: it is renamed with its log, never deleted.
      class Replacement
        COMPANIONS = ["", "-wal", "-shm"].freeze

        # @param path [String]
        def initialize(path)
          @path = path
        end

        # @yieldreturn [Boolean] whether what is there now is still to be set aside
        # @return [String, nil] the new name; nil if another process was first
        # @raise [SystemCallError]
        def call
          ::File.open("#{@path}.lock", ::File::CREAT | ::File::RDWR, 0o600) do |lock|
            lock.flock(::File::LOCK_EX)
            move_aside if ::File.exist?(@path) && yield
          end
        end

        private

        def move_aside
          target = free_name
          COMPANIONS.each do |companion|
            ::File.rename("#{@path}#{companion}", "#{target}#{companion}")
          rescue Errno::ENOENT
            nil
          end
          target
        end

        # A second file within a second must not take the first one's place.
        def free_name
          base = "#{@path}.set-aside-#{Time.now.utc.strftime("%Y%m%dT%H%M%S")}-#{Process.pid}"
          return base unless ::File.exist?(base)
          (2..).each { |number| return "#{base}-#{number}" unless ::File.exist?("#{base}-#{number}") }
        end
      end
    end
  end
end
