# frozen_string_literal: true

require_relative "../check"

module Tiercel
  class Doctor
    module Checks
      # Do all processes that need the cache share it? If not, deletes, rate limits and sessions go wrong.
      class Reach < Check
        ONE_PROCESS = "rate limits, sessions and deletes affect one process only"
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
          return :process if subject.of_each_process?
          return deployment.container? || deployment.roles.any? ? :container : :machine if subject.over?("Shared")
          :machine if subject.kind == :file_store || subject.over?("SQLite") || subject.over?("File")
        end

        def of_a_process
          workers = deployment.puma_workers
          return unknown("the number of Puma workers is unknown; each has a separate cache") if workers.nil?
          return sound("one Puma process, one cache") if workers < 2
          found("each of the #{workers} Puma workers has a separate cache: #{ONE_PROCESS}",
                fix: 'config.cache_store = :tiercel_store, "shared:"')
        end

        def of_a_machine(where)
          hosts = deployment.hosts.size
          if hosts > 1
            several("#{deployment.hosts_file} lists #{hosts} hosts, and each has a separate cache (#{subject})")
          elsif deployment.later_dyno
            several("this is the dyno #{deployment.later_dyno}, and each dyno has a separate cache (#{subject})")
          elsif deployment.platform && deployment.container?
            unknown("#{deployment.platform} does not reveal the number of containers; #{subject} serves only one " \
                    "of them, unless they share its folder (docs/platforms.md)")
          elsif where == "in one container" && deployment.roles.size > 1
            found("config/deploy.yml has the roles #{deployment.roles.keys.join(", ")}: each container has a " \
                  "separate cache, so a delete by a job does not affect the web processes",
                  fix: "let the containers share /dev/shm (docs/platforms.md), or use sqlite: on a shared volume")
          else
            sound("all processes #{where} share the cache")
          end
        end

        def several(text)
          found(text, fix: "use one server for all of them: " \
                           'config.cache_store = :tiercel_store, "shared:", "redis://..."')
        end
      end
    end
  end
end
