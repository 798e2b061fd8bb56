# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Compare
        # The two sides of `compare A B`: revisions of the repository, versions of a gem, or stores.
        module Sides
          GEM = /\A(?<name>[\w-]+(?:\.[\w-]+)*)@(?<version>\d[\w.]*)\z/

          module_function

          # @param text [String] GEM@VERSION; a store as `--store` takes it; else a revision, "." for the checkout as it
          #   is, "git:REVISION" for one that is called as a store is
          # @param repository [String] folder
          # @return [Side]
          # @raise [UsageError]
          def parse(text, repository:)
            if (match = GEM.match(text)) then GemVersion.new(match[:name], match[:version])
            elsif (contestant = store(text)) then OptionSet.new(contestant)
            else Revision.new(text.delete_prefix("git:"), repository:)
            end
          end

          # @param sides [Array(Side, Side)]
          # @param same [Boolean] whether they may be the same
          # @return [void]
          # @raise [UsageError] if they cannot be compared
          def check(sides, same:)
            one, other = sides
            unless one.instance_of?(other.class)
              raise UsageError, "compare #{one.text} #{other.text}: #{one.kind} and #{other.kind} cannot be compared"
            end
            if one.is_a?(GemVersion) && one.gem_name != other.gem_name
              raise UsageError, "compare #{one.text} #{other.text}: two versions of one gem are expected"
            end
            return if same || one.fingerprint != other.fingerprint
            raise UsageError, "compare #{one.text} #{other.text}: #{one.sameness}; --same measures it against itself"
          end

          def store(text)
            return if text.start_with?("git:") || text == "."
            Contestants.parse(text)
          rescue UsageError
            raise if text.include?("#") || text.match?(/\A\w+:(?!\z)/)
            nil
          end
          private_class_method :store
        end
      end
    end
  end
end
