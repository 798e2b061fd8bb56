# frozen_string_literal: true

require "json"

module Tiercel
  module Lab
    module Tables
      module Choice
        # Writes the files of a kind of values.
        module Files
          COUNTS = { "json-5kb" => 150, "html-40kb" => 50, "short-strings" => 800, "pictures-60kb" => 40,
                     "mixed" => 90 }.freeze
          WORDS = %w[amber brook cedar delta ember fjord grove haven inlet jetty knoll ledge marsh north ocean].freeze
          KINDS = %w[json-5kb html-40kb short-strings].freeze

          module_function

          # @param folder [String] an existing folder
          # @return [void]
          def write(kind, folder, seed:)
            random = Random.new(seed)
            COUNTS.fetch(kind).times do |index|
              File.binwrite(File.join(folder, format("%04d", index)), text(kind, index, random))
            end
          end

          def text(kind, index, random)
            case kind
            when "json-5kb" then JSON.generate(Array.new(50) { |row| record(row, random) })
            when "html-40kb" then "<ul>#{Array.new(700) { item(random) }.join("\n")}</ul>"
            when "short-strings" then sentence(random.rand(3..30), random)
            when "pictures-60kb" then random.bytes(random.rand(50_000..70_000))
            else text(KINDS[index % KINDS.size], index, random)
            end
          end

          def record(row, random)
            { id: row, name: sentence(4, random), price: random.rand(10_000) / 100.0, tags: [sentence(1, random)] }
          end

          def item(random) = %(<li class="#{sentence(1, random)}">#{sentence(6, random)}</li>)

          def sentence(words, random) = Array.new(words) { WORDS.sample(random:) }.join(" ")
        end
      end
    end
  end
end
