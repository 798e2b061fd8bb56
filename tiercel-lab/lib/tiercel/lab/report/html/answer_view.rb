# frozen_string_literal: true

module Tiercel
  module Lab
    module Report
      class Html
        # The answer at the top of a page.
        class AnswerView
          # @param answer [Document::Answer]
          def initialize(answer)
            @answer = answer
          end

          # @return [String]
          def render
            <<~HTML
              <section class="answer" aria-label="The answer">
              <p class="conditions">#{Html.inline(@answer.conditions)}</p>
              <p class="sentence">#{Html.inline(@answer.sentence)}</p>
              <ol class="candidates">#{@answer.candidates.map { |candidate| candidate(*candidate) }.join}</ol>
              <p>#{Html.inline(@answer.notes.join(" "))}</p>
              #{changes}</section>
            HTML
          end

          private

          def candidate(name, cost, memory, configuration)
            %(<li><strong>#{Html.inline(name)}</strong> <span class="cost">#{Html.inline(cost)}</span> ) +
              %(<span class="memory">#{Html.inline(memory)}</span>) +
              "#{Html.code_block(configuration) if configuration}</li>"
          end

          def changes
            return "" if @answer.changes.empty?
            items = @answer.changes.map { |change| "<li>#{Html.inline(change)}</li>" }
            "<p>What would change the answer:</p><ul>#{items.join}</ul>"
          end
        end
      end
    end
  end
end
