# frozen_string_literal: true

require_relative "../check"

module Tiercel
  class Doctor
    module Checks
      # Do all processes that need the cache share it? If not, deletes, rate limits and sessions go wrong.
      class Reach < Check
        ONE_PROCESS = "rate limits, sessions and deletes hold in one process only"
        private_constant :ONE_PROCESS

        private

        def examine
          case reach
          when :process then of_a_process
          when :container then of_a_machine("in one container")
          when :machine then of_a_machine("on one host")
          end
        end

        # @return [Symbol] the set of processes that share the store
        def reach
          return :process if subject.kind == :memory_store || subject.over?("Memory") || subject.over?("MemorySegment")
          return deployment.container? || deployment.roles.any? ? :container : :machine if subject.over?("Shared")
          :machine if subject.kind == :file_store || subject.over?("SQLite") || subject.over?("File")
        end

        def of_a_process
          workers = deployment.puma_workers
          return unknown("the number of Puma's workers is not known; each has a cache of its own") if workers.nil?
          return sound("one Puma process, one cache") if workers < 2
          found("each of Puma's #{workers} workers has a cache of its own: #{ONE_PROCESS}",
                fix: 'config.cache_store = :tiercel_store, "shared:"')
        end

        def of_a_machine(where)
          hosts = deployment.hosts.size
          if hosts > 1
            several("#{deployment.hosts_file} names #{hosts} hosts, and each has a cache of its own (#{subject})")
          elsif deployment.later_dyno
            several("this is the dyno #{deployment.later_dyno}, and each dyno has a cache of its own (#{subject})")
          elsif deployment.platform && deployment.container?
            unknown("#{deployment.platform} does not tell how many containers there are; #{subject} is the cache of " \
                    "one, unless they share its folder (docs/platforms.md)")
          elsif where == "in one container" && deployment.roles.size > 1
            found("config/deploy.yml has the roles #{deployment.roles.keys.join(", ")}: each container has a cache " \
                  "of its own, so a delete by a job does not reach the web processes",
                  fix: "let the containers share /dev/shm (docs/platforms.md), or use sqlite: on a shared volume")
          else
            sound("all processes #{where} share the cache")
          end
        end

        def several(text)
          found(text, fix: "use a server for all of them: " \
                           'config.cache_store = :tiercel_store, "shared:", "redis://..."')
        end
      end
    end
  end
end
