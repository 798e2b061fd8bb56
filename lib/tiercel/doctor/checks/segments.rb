# frozen_string_literal: true

require_relative "../check"
require_relative "../../clock"
require_relative "../../sizes"

module Tiercel
  class Doctor
    module Checks
      # Are the shared-memory files in the right place, and are there leftovers?
      class Segments < Check
        # Docker's default size of /dev/shm.
        CONTAINER_DEFAULT_BYTES = 64 << 20
        UNUSED_SECONDS = 86_400
        LARGER = "start the container with --shm-size 512m (Kamal: options: { shm-size: 512m })"
        private_constant :CONTAINER_DEFAULT_BYTES, :UNUSED_SECONDS, :LARGER

        private

        def examine
          segments = subject.tiers.filter_map { |tier| tier.segment if tier.respond_to?(:segment) }.select(&:path)
          return if segments.empty?
          segments.each do |segment|
            placed(segment)
            of_other_users(segment)
          end
          leftovers
        end

        def placed(segment)
          small = small_room
          if displaced?(segment.path)
            found("#{segment.path} is not in #{deployment.shared_memory}#{" (#{small})" if small}, so its pages are " \
                  "written to a disk", fix: small ? LARGER : "give #{deployment.shared_memory} more space, or set a " \
                                                             "smaller size:")
          elsif small
            found("#{deployment.shared_memory} has #{small}", fix: LARGER)
          else
            sound("#{segment.path} is in the right place")
          end
        end

        # @return [String, nil] the size of a container's shared memory, if it is small
        def small_room
          room = room_of_shared_memory
          return unless deployment.container? && room && room <= CONTAINER_DEFAULT_BYTES
          "#{Sizes.human(room)}#{", Docker's default" if room == CONTAINER_DEFAULT_BYTES}"
        end

        def of_other_users(segment)
          require_relative "../../segment/other_users"
          others = Segment::OtherUsers.beside(segment.path)
          others.segments.each do |path|
            found("#{path} is a segment of the same name that belongs to #{others.owner(path)}: a delete or " \
                  "clear by one user does not affect the other's cache",
                  fix: "run the site, its jobs and consoles as one user, and remove the other segment as its user")
          end
        end

        # A path in the configuration is the user's choice; a name uses shared memory if there is enough space.
        def displaced?(path)
          ::File.basename(path).match?(/\Atiercel-.*\.v\d+\z/) && !path.start_with?("#{deployment.shared_memory}/")
        end

        # The mount's size limit, which the kernel lists in kB; nil for a mount without a limit.
        def room_of_shared_memory
          mount = deployment.mounts.lines.map(&:split).reverse.find { |line| line[1] == deployment.shared_memory }
          kilobytes = mount && mount[3].to_s[/(?:\A|,)size=(\d+)k/, 1]
          kilobytes && kilobytes.to_i * 1024
        end

        def leftovers
          require_relative "../../segment/report"
          place = Segment::Report.place or return
          left = (place.of_application - place.paths).select { |path| unused?(path) }
          return if left.empty?
          found("segments of this application without use for a day: #{left.first(3).join(", ")}" \
                "#{", ..." if left.size > 3}", fix: "bin/rails tiercel:segments:prune")
        end

        # The lock file's time records when a process last opened the segment.
        def unused?(path)
          [path, "#{path}.lock"].all? { |file| ::File.mtime(file).to_f < Clock.now - UNUSED_SECONDS }
        rescue SystemCallError
          false
        end
      end
    end
  end
end
